import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { ExplainRequest, type RequestExplained, ServingError } from "@baton/protocol";
import { readOptions } from "@baton/runtime";
import { askFrontend, modelNames, type RouteAnswer } from "../bus-tools/explain.ts";
import { type Asked, questionOf } from "../bus-tools/question.ts";
import { routeText } from "../bus-tools/route-text.ts";
import type { CommandIo } from "../command-io.ts";
import { adminUrl, explainOptions } from "../common-options.ts";
import { observeNats, type WhereToLook } from "../observer.ts";
import { statusFromAdmin } from "./status.ts";

/** `baton route explain`: where a request would go, and why. 1 if it would be refused. */
export async function explainRoute(
  prompt: string | undefined,
  flags: Readonly<Record<string, unknown>>,
  io: CommandIo,
): Promise<number> {
  const options = readOptions(explainOptions, { flags, env: io.env });
  const body = options.body === undefined ? undefined : await readBody(options.body);
  const asked: Asked = { prompt, body, model: options.model };
  const answer = await (options.admin === undefined
    ? explainOnBus(asked, options, io)
    : explainAtAdmin(asked, options.admin));
  const route = JSON.parse(answer.body) as RouteAnswer;
  io.out(options.json ? `${answer.body}\n` : routeText(route));
  return route.error === undefined ? 0 : 1;
}

async function readBody(file: string): Promise<string> {
  try {
    return await (file === "-" ? text(process.stdin) : readFile(file, "utf8"));
  } catch (error) {
    const problem = `--body: cannot read ${file}: ${ServingError.from(error).message}`;
    throw new ServingError("config_invalid", { problem }, { cause: error });
  }
}

async function explainOnBus(
  asked: Asked,
  options: WhereToLook,
  io: CommandIo,
): Promise<RequestExplained> {
  if (options.nats === undefined) {
    throw new ServingError("config_invalid", {
      problem: "say where to look: --nats URL or --admin URL",
    });
  }
  const observer = await observeNats({ ...options, nats: options.nats }, io);
  try {
    return await askFrontend(observer, await questionOf(asked, () => modelNames(observer)));
  } finally {
    await observer.bus.close();
  }
}

async function explainAtAdmin(asked: Asked, admin: string): Promise<RequestExplained> {
  const question = await questionOf(asked, async () => {
    const status = await statusFromAdmin(admin);
    return status.models.map(({ model }) => model);
  });
  const answer = await fetchAdmin("/route/explain", admin, {
    method: "POST",
    body: ExplainRequest.encode(question),
  });
  const body = await answer.text();
  if (isRoute(body)) return { status: answer.status, body };
  throw new ServingError("bus_unavailable", { problem: problemOf(body, answer) });
}

async function fetchAdmin(path: string, admin: string, init: RequestInit = {}): Promise<Response> {
  const url = adminUrl(path, admin);
  return await fetch(url, init).catch((cause: unknown) => {
    throw new ServingError(
      "bus_unavailable",
      { problem: `nothing answers at ${url.href}` },
      { cause },
    );
  });
}

/** Whether a body is what a Frontend said: the admin port's own errors are a text in `error`. */
function isRoute(body: string): boolean {
  try {
    const parsed = JSON.parse(body);
    return parsed.object === "route" || typeof parsed.error === "object";
  } catch {
    // Not even JSON: whatever answers there, it is no admin port.
    return false;
  }
}

function problemOf(body: string, answer: Response): string {
  try {
    return String(JSON.parse(body).error);
  } catch {
    return `${answer.url} answered ${answer.status}`;
  }
}
