/** Why something was not done: with a stable code, the field, the reason and the fix. */
export class Refusal extends Error {
  override readonly name = "Refusal";

  constructor(
    readonly code: string,
    readonly field: string,
    readonly reason: string,
    readonly fix: string,
  ) {
    super(`Refused: ${reason} [${code}, ${field}].\nFix: ${fix}.`);
  }

  /** Whatever was thrown, as a refusal. */
  static from(error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    const reason = error instanceof Error ? error.message : String(error);
    return new Refusal(
      "extension_failed",
      "extension",
      reason,
      "try it again, and report what you did",
    );
  }
}
