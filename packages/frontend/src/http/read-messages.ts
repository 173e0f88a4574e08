import { ServingError } from "@baton/protocol";
import type { ChatMessage } from "../request/serving-request.ts";
import { invalid } from "./check-body.ts";
import type { BodyMessage } from "./request-schema.ts";

/** The messages of a chat, their parts joined. Throws `unsupported` for what is neither text nor a turn of the chat. */
export function readMessages(messages: readonly BodyMessage[]): readonly ChatMessage[] {
  return messages.map(readMessage);
}

function readMessage(message: BodyMessage, index: number): ChatMessage {
  const at = `messages[${index}]`;
  for (const field of ["tool_calls", "function_call", "audio"]) {
    const value = message[field];
    if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) {
      continue;
    }
    throw unsupported(`${at}.${field}`, "is not supported here");
  }
  if (message.role === "tool" || message.role === "function") {
    throw unsupported(`${at}.role`, `of '${message.role}' is not supported here`);
  }
  const { content = null, refusal } = message;
  if (content === null && message.role !== "assistant") {
    throw invalid(`${at}.content`, `${at}.content is required`);
  }
  return {
    // Templates know the system's turn by its older name.
    role: message.role === "developer" ? "system" : message.role,
    content: contentText(content ?? (typeof refusal === "string" ? refusal : ""), at),
    ...(typeof message.name === "string" ? { name: message.name } : {}),
  };
}

function contentText(content: NonNullable<BodyMessage["content"]>, at: string): string {
  if (typeof content === "string") return content;
  const texts = content.map((part, index) => {
    if (part.type === "text" && typeof part.text === "string") return part.text;
    const param = `${at}.content[${index}]`;
    if (part.type === "text") throw invalid(`${param}.text`, `${param}.text must be a string`);
    throw unsupported(param, `is of type '${part.type}'; only text is supported here`);
  });
  return texts.join("\n");
}

function unsupported(param: string, problem: string): ServingError {
  return new ServingError("unsupported", { param, problem: `${param} ${problem}` });
}
