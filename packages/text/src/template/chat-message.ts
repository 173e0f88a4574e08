import { ChatTemplateError } from "./chat-template-error.ts";

/** A part of a message. Only text can be rendered. */
export interface ContentPart {
  readonly type: string;
  readonly text?: string;
}

/** A message as clients send it. Further fields (`name`, `tool_calls`) reach the template as they are. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: string | readonly ContentPart[] | null;
  readonly [field: string]: unknown;
}

/**
 * The messages as string-only templates expect them: text parts joined by line feeds.
 *
 * Throws `ChatTemplateError` (`messages`) naming the message that has no role or holds what is no text.
 */
export function flattenMessages(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new ChatTemplateError("messages", "messages: at least one message is needed");
  }
  return messages.map((message, index) => flattenMessage(message, `messages[${index}]`));
}

function flattenMessage(message: ChatMessage, path: string): ChatMessage {
  if (typeof message !== "object" || message === null || typeof message.role !== "string") {
    throw new ChatTemplateError("messages", `${path}.role: not a string`);
  }
  const { content } = message;
  if (content === undefined || content === null || typeof content === "string") {
    return message;
  }
  if (!Array.isArray(content)) {
    throw new ChatTemplateError(
      "messages",
      `${path}.content: neither a string nor an array of parts`,
    );
  }
  const texts = (content as readonly ContentPart[]).map((part, index) =>
    textOfPart(part, `${path}.content[${index}]`),
  );
  return { ...message, content: texts.join("\n") };
}

function textOfPart(part: ContentPart, path: string): string {
  if (part?.type === "text" && typeof part.text === "string") {
    return part.text;
  }
  throw new ChatTemplateError(
    "messages",
    `${path}: only text parts are supported, not ${JSON.stringify(part?.type ?? null)}`,
  );
}
