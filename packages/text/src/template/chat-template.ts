import { Environment, Template } from "@huggingface/jinja";
import { ChatInterpreter, KnownValues } from "./chat-interpreter.ts";
import { type ChatMessage, flattenMessages } from "./chat-message.ts";
import { ChatTemplateError } from "./chat-template-error.ts";
import { formatUtc } from "./format-utc.ts";

/** The texts that a template writes around turns; empty where the model has none. */
export interface TemplateTokens {
  readonly bosToken: string;
  readonly eosToken: string;
}

/** What is rendered beside the messages. */
export interface RenderOptions {
  /** Whether the prompt ends with the beginning of the assistant's turn. Default true. */
  readonly addGenerationPrompt?: boolean;
  /** Tools as the client declared them. */
  readonly tools?: readonly unknown[];
  /** The time that the template may write, epoch ms. Without it templates that ask for the date write their fallback. */
  readonly nowMs?: number;
  /** Further variables (`chat_template_kwargs`). They cannot replace those above. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** Thrown by the template itself through `raise_exception`. */
class TemplateRefusal extends Error {}

/**
 * A chat template, parsed once per model, with what all its renders share. Templates are trusted as much as the worker that
 * sent them: nothing bounds their work.
 */
export class ChatTemplate {
  private readonly template: Template;
  private readonly shared: Environment;
  private readonly known = new KnownValues();

  /** Throws `ChatTemplateError` (`syntax`). */
  constructor(source: string, tokens: TemplateTokens) {
    try {
      this.template = new Template(source);
    } catch (cause) {
      throw new ChatTemplateError(
        "syntax",
        `the chat template cannot be parsed: ${reason(cause)}`,
        { cause },
      );
    }
    this.shared = makeShared(tokens);
  }

  /**
   * The prompt for a message list, to be encoded without special tokens: a template writes BOS itself.
   *
   * Throws `ChatTemplateError`: `messages` if the list is refused, `failed` if the template breaks on it.
   */
  render(messages: readonly ChatMessage[], options: RenderOptions = {}): string {
    const environment = this.makeEnvironment(flattenMessages(messages), options);
    try {
      const { value } = new ChatInterpreter(environment, this.known).run(this.template.parsed);
      return String(value);
    } catch (cause) {
      if (cause instanceof TemplateRefusal) {
        throw new ChatTemplateError("messages", cause.message, { cause });
      }
      throw new ChatTemplateError(
        "failed",
        `the chat template does not take these messages: ${reason(cause)}`,
        { cause },
      );
    }
  }

  /** A scope of one render: what templates set stays in it. */
  private makeEnvironment(messages: readonly ChatMessage[], options: RenderOptions): Environment {
    const environment = new Environment(this.shared);
    for (const [name, value] of Object.entries(options.variables ?? {})) {
      if (!ownNames.has(name)) {
        environment.set(name, value);
      }
    }
    environment.set("messages", messages);
    environment.set("add_generation_prompt", options.addGenerationPrompt ?? true);
    if (options.tools !== undefined) {
      environment.set("tools", options.tools);
    }
    const { nowMs } = options;
    if (nowMs !== undefined) {
      environment.set("strftime_now", (format: string) => formatUtc(nowMs, format));
    }
    return environment;
  }
}

function makeShared({ bosToken, eosToken }: TemplateTokens): Environment {
  const shared = new Environment();
  for (const [name, value] of globals) {
    shared.set(name, value);
  }
  shared.set("bos_token", bosToken);
  shared.set("eos_token", eosToken);
  shared.set("tools", null);
  shared.set("documents", null);
  return shared;
}

/** Parses a chat template. Throws `ChatTemplateError` (`syntax`). */
export function parseChatTemplate(source: string, tokens: TemplateTokens): ChatTemplate {
  return new ChatTemplate(source, tokens);
}

/** What every template finds, as the reference has it. */
const globals: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null],
  ["range", range],
  [
    "raise_exception",
    (message: unknown) => {
      throw new TemplateRefusal(String(message));
    },
  ],
]);

/** What variables of a request cannot replace. */
const ownNames: ReadonlySet<string> = new Set([
  ...globals.keys(),
  "messages",
  "add_generation_prompt",
  "bos_token",
  "eos_token",
  "tools",
  "strftime_now",
]);

function range(start: number, stop?: number, step = 1): number[] {
  const from = stop === undefined ? 0 : start;
  const to = stop ?? start;
  if (step === 0) {
    throw new Error("range() with a step of zero");
  }
  const count = Math.max(0, Math.ceil((to - from) / step));
  return Array.from({ length: count }, (_, index) => from + index * step);
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
