import { type ExplainRequest, ServingError } from "@baton/protocol";

/** What a person asks about. */
export interface Asked {
  /** A user's message. */
  readonly prompt?: string | undefined;
  /** The JSON body of a chat or a completion. */
  readonly body?: string | undefined;
  readonly model?: string | undefined;
}

/**
 * The question for a Frontend. The model is the one that was said, else the body's, else the only one there is: `models`
 * is asked for them only then. Rejects with `config_invalid` if it cannot be told what is meant.
 */
export async function questionOf(
  asked: Asked,
  models: () => Promise<readonly string[]>,
): Promise<ExplainRequest> {
  const body = bodyOf(asked);
  const model = asked.model ?? body.model ?? onlyOne(await models());
  return {
    endpoint: body.messages === undefined && body.prompt !== undefined ? "completions" : "chat",
    body: JSON.stringify({ ...body, model }),
  };
}

type Body = Readonly<Record<string, unknown>>;

function bodyOf({ prompt, body }: Asked): Body {
  if ((prompt === undefined) === (body === undefined)) {
    throw invalid("say what to ask about: a prompt, or --body FILE, and not both");
  }
  if (body === undefined) return { messages: [{ role: "user", content: prompt }] };
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch (error) {
    throw invalid(`--body: not JSON: ${error instanceof Error ? error.message : ""}`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw invalid("--body: must be a JSON object");
  }
  return parsed as Body;
}

function onlyOne(models: readonly string[]): string {
  const [only] = models;
  if (only !== undefined && models.length === 1) return only;
  throw invalid(
    only === undefined
      ? "--model: no model is served yet"
      : `--model: say which one: ${models.join(", ")}`,
  );
}

function invalid(problem: string): ServingError {
  return new ServingError("config_invalid", { problem });
}
