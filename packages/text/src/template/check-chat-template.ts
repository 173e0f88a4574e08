import type { ChatMessage } from "./chat-message.ts";
import { type ChatTemplate, parseChatTemplate, type TemplateTokens } from "./chat-template.ts";
import { ChatTemplateError } from "./chat-template-error.ts";

/** What a check of a chat template found. */
export type ChatTemplateCheck =
  | {
      readonly kind: "usable";
      readonly template: ChatTemplate;
      /** Whether a system message reaches the prompt; some models have no place for one. */
      readonly takesSystem: boolean;
    }
  | { readonly kind: "unusable"; readonly problem: string };

const question: ChatMessage = { role: "user", content: "baton-question" };
const answer: ChatMessage = { role: "assistant", content: "baton-answer" };
const followUp: ChatMessage = { role: "user", content: "baton-follow-up" };
const system: ChatMessage = { role: "system", content: "baton-system" };

/** Lists that every template must render, each with all its texts. */
const requiredLists: readonly (readonly ChatMessage[])[] = [
  [question],
  [question, answer, followUp],
];

/** Parses a template and renders fixed message lists, so that a broken one is refused at registration, not at a request. */
export function checkChatTemplate(source: string, tokens: TemplateTokens): ChatTemplateCheck {
  try {
    const template = parseChatTemplate(source, tokens);
    for (const messages of requiredLists) {
      const missing = missingText(template, messages);
      if (missing !== undefined) {
        return { kind: "unusable", problem: `the chat template leaves out ${missing}` };
      }
    }
    return { kind: "usable", template, takesSystem: takesSystem(template) };
  } catch (error) {
    if (error instanceof ChatTemplateError) {
      return { kind: "unusable", problem: error.message };
    }
    throw error;
  }
}

function missingText(template: ChatTemplate, messages: readonly ChatMessage[]): string | undefined {
  const prompt = template.render(messages);
  const missing = messages.find(({ content }) => !prompt.includes(String(content)));
  return missing === undefined ? undefined : `the text of a message of role ${missing.role}`;
}

function takesSystem(template: ChatTemplate): boolean {
  try {
    return missingText(template, [system, question]) === undefined;
  } catch (error) {
    if (error instanceof ChatTemplateError) {
      // A refusal is the answer.
      return false;
    }
    throw error;
  }
}
