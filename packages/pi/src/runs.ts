/** The runs as the program's events tell of them. All of it is only to be looked at. */

export interface Gauge {
  dimension: string;
  used: number;
  limit: number | null;
}

export interface Call {
  call: number;
  tool: string;
  preview: string;
  verdict: string;
  rule: string;
}

export interface Run {
  run: string;
  preset: string;
  workdir: string;
  model: string;
  label: string | null;
  boundary: string | undefined;
  /** What it does, in a word or two. */
  doing: string;
  gauges: Gauge[];
  silentMs: number;
  silence: string;
  /** When the last status came, by this process's clock. */
  heard: number;
  started: string;
  calls: Call[];
  /** Calls beyond those that are kept. */
  further: number;
}

/** Calls that are kept of a run: the ledger has all of them. */
const CALLS = 200;

interface Event {
  run: string;
  event: string;
  [field: string]: unknown;
}

/** The runs that go on. */
export class Runs {
  readonly live = new Map<string, Run>();

  constructor(
    private readonly changed: () => void,
    private readonly began: (run: Run) => void,
    private readonly ended: (run: Run, status: string) => void,
  ) {}

  take(data: unknown): void {
    if (!isEvent(data)) return;
    if (data.event === "started") {
      const run = begun(data);
      this.live.set(run.run, run);
      this.began(run);
    }
    const run = this.live.get(data.run);
    if (run === undefined) return;
    switch (data.event) {
      case "boundary":
        run.boundary = String(data.level);
        break;
      case "call":
        if (run.calls.length < CALLS) {
          run.calls.push({
            call: Number(data.call),
            tool: String(data.tool),
            preview: String(data.preview),
            verdict: String(data.verdict),
            rule: String(data.rule),
          });
        } else {
          run.further += 1;
        }
        break;
      case "status": {
        const activity = data.activity as { doing?: string; tool?: string } | undefined;
        run.doing = [activity?.doing, activity?.tool]
          .filter(Boolean)
          .join(" ")
          .replaceAll("_", " ");
        run.gauges = Array.isArray(data.gauges) ? (data.gauges as Gauge[]) : [];
        run.silentMs = Number(data.silent_ms);
        run.silence = String(data.silence);
        run.heard = Date.now();
        break;
      }
      case "ended":
        this.live.delete(run.run);
        this.ended(run, String(data.status));
        break;
    }
    this.changed();
  }

  /** The program is gone, and every run with it. */
  clear(): void {
    this.live.clear();
    this.changed();
  }
}

function isEvent(data: unknown): data is Event {
  return (
    typeof data === "object" &&
    data !== null &&
    "run" in data &&
    typeof data.run === "string" &&
    "event" in data &&
    typeof data.event === "string"
  );
}

function begun(event: Event): Run {
  return {
    run: event.run,
    preset: String(event.preset),
    workdir: String(event.workdir),
    model: String(event.model),
    label: typeof event.label === "string" ? event.label : null,
    boundary: undefined,
    doing: "starting",
    gauges: [],
    silentMs: 0,
    silence: "awake",
    heard: Date.now(),
    started: new Date().toISOString(),
    calls: [],
    further: 0,
  };
}
