import { type SubjectRow, subjectTable } from "@baton/protocol";

/** `docs/asyncapi.json`: every subject as a channel of AsyncAPI 3.0. */
export function asyncApiDocument(): string {
  const channels = Object.fromEntries(subjectTable.map((row) => [keyOf(row), channelOf(row)]));
  const document = {
    asyncapi: "3.0.0",
    info: {
      title: "Baton",
      version: "1",
      description:
        "What Baton's actors say on NATS. Payloads are msgpack; docs/protocol.md has their layouts.",
    },
    defaultContentType: "application/msgpack",
    channels,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function keyOf(row: SubjectRow): string {
  const tokens = row.pattern.split(".");
  return tokens
    .slice(tokens[1] === "v1" ? 4 : 1)
    .join("-")
    .replace("-<id>", "-by-id")
    .replace("-<ns>", "");
}

function channelOf(row: SubjectRow): object {
  const parameters = [...row.pattern.matchAll(/<(\w+)>/g)].map(([, name]) => name ?? "");
  return {
    address: row.pattern.replaceAll("<", "{").replaceAll(">", "}"),
    description: row.meaning,
    parameters: Object.fromEntries(
      parameters.map((name) => [name, { description: parameterMeaning[name] }]),
    ),
    messages: row.message === null ? {} : { [row.message.name]: messageOf(row.message) },
    "x-publishers": row.publishers,
    "x-subscribers": row.subscribers,
    ...(row.queue !== null && { "x-queue-group": row.queue }),
    ...(row.reply !== null && { "x-reply": messageOf(row.reply) }),
  };
}

function messageOf(message: NonNullable<SubjectRow["message"]>): object {
  return {
    name: message.name,
    "x-version": message.version,
    payload:
      message.layout === null ? { type: "object" } : { type: "array", "x-fields": message.layout },
  };
}

const parameterMeaning: Readonly<Record<string, string>> = {
  ns: "token of the namespace's name",
  model: "token of the model's name, or _",
  id: "id of one actor",
};
