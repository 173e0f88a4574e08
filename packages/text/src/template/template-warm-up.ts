import type { ChatMessage } from "./chat-message.ts";
import type { ChatTemplate } from "./chat-template.ts";
import { ChatTemplateError } from "./chat-template-error.ts";

const renders = 40;
const mostTurns = 12;
const text = "How much is twice two, and why? ";

/** Renders chats of several lengths, one a step, so that the engine compiles what rendering runs. Takes about 10 ms in all. */
export class TemplateWarmUp {
  private readonly template: ChatTemplate;
  private rendersDone = 0;

  constructor(template: ChatTemplate) {
    this.template = template;
  }

  /** Renders one chat more, whatever `maxItems` is. True when all are rendered. */
  step(_maxItems: number): boolean {
    try {
      this.template.render(chatOf(1 + (this.rendersDone % mostTurns)));
    } catch (error) {
      if (!(error instanceof ChatTemplateError)) {
        throw error;
      }
      // A template may refuse what it likes: it was run.
    }
    this.rendersDone += 1;
    return this.rendersDone >= renders;
  }
}

/** A chat of some turns of the user, with answers between them, and a system message where there are several. */
function chatOf(turns: number): readonly ChatMessage[] {
  const messages: ChatMessage[] = turns % 2 === 0 ? [{ role: "system", content: text }] : [];
  for (let turn = 1; turn <= turns; turn += 1) {
    messages.push({ role: "user", content: text.repeat(turn) });
    if (turn < turns) {
      messages.push({ role: "assistant", content: text });
    }
  }
  return messages;
}
