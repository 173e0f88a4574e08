/**
 * Why a chat template gave no prompt: `syntax`, it cannot be parsed; `messages`, it or we refuse the message list, which is
 * the client's fault; `failed`, it broke, by its own fault or by what it does not expect in the messages.
 */
export type ChatTemplateFailure = "syntax" | "messages" | "failed";

/** A chat template that cannot be parsed or gives no prompt for a message list. */
export class ChatTemplateError extends Error {
  readonly failure: ChatTemplateFailure;

  constructor(failure: ChatTemplateFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ChatTemplateError";
    this.failure = failure;
  }
}
