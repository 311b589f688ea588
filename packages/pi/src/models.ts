/**
 * A child's model may be Pi's own (N5): the program asks for a turn, Pi's provider and account answer it, and no key
 * leaves Pi. What the provider said is sent along as it is, so that it can be played back unchanged.
 */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Api, AssistantMessage, Message, Model, Tool, Usage } from "@earendil-works/pi-ai";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  type CreateMessageRequestParams,
  CreateMessageRequestSchema,
  type CreateMessageResultWithTools,
  type SamplingMessage,
} from "@modelcontextprotocol/sdk/types.js";

const USAGE = "deputize/usage";
const MESSAGE = "deputize/message";

/** A sign of life is given no more often than this. */
const ALIVE = 1_000;

export function serveModels(client: Client, here: () => ExtensionContext | undefined): void {
  client.setRequestHandler(CreateMessageRequestSchema, async ({ params }, extra) => {
    const ctx = here();
    if (ctx === undefined) throw new Error("the session has ended");
    const model = modelFor(params, ctx);
    const stream = ctx.modelRegistry.streamSimple(
      model,
      {
        ...(params.systemPrompt === undefined ? {} : { systemPrompt: params.systemPrompt }),
        messages: messagesOf(params.messages, model),
        tools: (params.tools ?? []).map(toolOf),
      },
      {
        signal: extra.signal,
        maxTokens: Math.min(params.maxTokens, model.maxTokens),
        ...(params.temperature === undefined ? {} : { temperature: params.temperature }),
        ...(params.toolChoice?.mode === "none" ? { toolChoice: "none" as const } : {}),
        ...reasoning(model, ctx),
      },
    );
    const token = params._meta?.progressToken;
    let told = 0;
    let step = 0;
    for await (const event of stream) {
      if (token === undefined || event.type === "done" || event.type === "error") continue;
      if (Date.now() - told < ALIVE) continue;
      told = Date.now();
      step += 1;
      await extra.sendNotification({
        method: "notifications/progress",
        params: { progressToken: token, progress: step },
      });
    }
    return answerOf(await stream.result(), model);
  });
}

/** The model that is named, else the one that Pi's agent uses. Only what Pi itself can use is taken. */
function modelFor(params: CreateMessageRequestParams, ctx: ExtensionContext): Model<Api> {
  const name = params.modelPreferences?.hints?.[0]?.name;
  const current = ctx.model as Model<Api> | undefined;
  if (name === undefined || name === "") {
    if (current === undefined) throw new Error("no model is chosen in Pi");
    return current;
  }
  const known = ctx.modelRegistry.getAvailable();
  const named = (model: Model<Api>) =>
    name === `${model.provider}/${model.id}` || name === model.id;
  const found =
    known.find((model) => named(model) && model.provider === current?.provider) ??
    known.find(named);
  if (found === undefined) throw new Error(`Pi has no model \`${name}\``);
  return found;
}

/** A child thinks as much as Pi's agent does. */
function reasoning(model: Model<Api>, { thinkingLevel }: ExtensionContext) {
  return model.reasoning && thinkingLevel !== undefined && thinkingLevel !== "off"
    ? { reasoning: thinkingLevel }
    : {};
}

function toolOf(tool: NonNullable<CreateMessageRequestParams["tools"]>[number]): Tool {
  return { name: tool.name, description: tool.description ?? "", parameters: tool.inputSchema };
}

function messagesOf(messages: SamplingMessage[], model: Model<Api>): Message[] {
  /** Tools by the id of the call: a result names only that. */
  const called = new Map<string, string>();
  const timestamp = Date.now();
  return messages.flatMap((message): Message[] => {
    const parts = Array.isArray(message.content) ? message.content : [message.content];
    for (const part of parts) if (part.type === "tool_use") called.set(part.id, part.name);
    if (message.role === "assistant") {
      // Pi's own message, given by this extension in an earlier turn.
      const kept = message._meta?.[MESSAGE];
      if (isAssistant(kept)) return [kept];
      return [{ ...emptyAnswer(model, timestamp), content: parts.flatMap(saidBefore) }];
    }
    return parts.flatMap((part): Message[] => {
      if (part.type === "text") return [{ role: "user", content: part.text, timestamp }];
      if (part.type !== "tool_result") return [];
      const text = part.content.map((one) => (one.type === "text" ? one.text : "")).join("\n");
      return [
        {
          role: "toolResult",
          toolCallId: part.toolUseId,
          toolName: called.get(part.toolUseId) ?? "",
          content: [{ type: "text", text }],
          isError: part.isError === true,
          timestamp,
        },
      ];
    });
  });
}

function saidBefore(part: { type: string } & Record<string, unknown>): AssistantMessage["content"] {
  if (part.type === "text") return [{ type: "text", text: String(part.text) }];
  if (part.type !== "tool_use") return [];
  const args = (part.input ?? {}) as never;
  return [{ type: "toolCall", id: String(part.id), name: String(part.name), arguments: args }];
}

function emptyAnswer(model: Model<Api>, timestamp: number): AssistantMessage {
  const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return {
    role: "assistant",
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: { ...none, totalTokens: 0, cost: { ...none, total: 0 } },
    stopReason: "stop",
    timestamp,
  };
}

function isAssistant(kept: unknown): kept is AssistantMessage {
  return (
    typeof kept === "object" &&
    kept !== null &&
    "role" in kept &&
    kept.role === "assistant" &&
    "content" in kept &&
    Array.isArray(kept.content)
  );
}

type Part = Exclude<CreateMessageResultWithTools["content"], unknown[]>;

const STOPS: Record<string, string> = { stop: "endTurn", length: "maxTokens", toolUse: "toolUse" };

function answerOf(said: AssistantMessage, model: Model<Api>): CreateMessageResultWithTools {
  const stopReason = STOPS[said.stopReason];
  if (stopReason === undefined) {
    throw new Error(`Pi's model failed: ${said.errorMessage ?? said.stopReason}`);
  }
  const content = said.content.flatMap((part): Part[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type !== "toolCall") return [];
    return [{ type: "tool_use", id: part.id, name: part.name, input: part.arguments }];
  });
  return {
    role: "assistant",
    model: `${model.provider}/${model.id}`,
    stopReason,
    content: content.length === 0 ? [{ type: "text", text: "" }] : content,
    _meta: { [USAGE]: usageOf(said.usage, model), [MESSAGE]: said },
  };
}

/** What Pi reports of a turn: tokens that no cache served, those that one did, output, and the cost by its prices. */
function usageOf({ input, cacheRead, cacheWrite, output, cost }: Usage, model: Model<Api>) {
  const tokens = { input: input + cacheWrite, cachedInput: cacheRead, output };
  const priced = model.cost.input > 0 || model.cost.output > 0;
  return priced ? { ...tokens, costMicros: Math.ceil(cost.total * 1_000_000) } : tokens;
}
