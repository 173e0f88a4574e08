import { type AnyMessage, type Subjects, subjectRow } from "@baton/protocol";
import type { Bus, BusMessage, BusSubscription, Clock } from "@baton/runtime";
import { type Json, messageJson } from "./message-json.ts";

/** One message as `baton tail` shows it. */
export interface TailLine {
  /** Epoch ms at which it was heard. */
  readonly at: number;
  readonly subject: string;
  /** The message's name, or `unknown`. */
  readonly name: string;
  readonly version: number;
  readonly message: Json;
}

/** Requests whose reply is still to come; the oldest are forgotten first. */
const repliesRemembered = 4_096;

/** Hears everything of a namespace and opens it. Replies are recognized by the requests that they answer. */
export class Tail {
  readonly #clock: Clock;
  readonly #onLine: (line: TailLine) => void;
  readonly #replies = new Map<string, AnyMessage>();
  readonly #subscription: BusSubscription;

  constructor(
    deps: { readonly bus: Bus; readonly subjects: Subjects; readonly clock: Clock },
    onLine: (line: TailLine) => void,
  ) {
    this.#clock = deps.clock;
    this.#onLine = onLine;
    this.#subscription = deps.bus.subscribe(deps.subjects.everything(), (message) =>
      this.#heard(message),
    );
  }

  stop(): void {
    this.#subscription.unsubscribe();
  }

  #heard({ subject, payload, replyTo }: BusMessage): void {
    const row = subjectRow(subject);
    if (row?.reply && replyTo !== null) this.#expectReply(replyTo, row.reply);
    const message = row === undefined ? this.#replies.get(subject) : row.message;
    this.#onLine({ at: this.#clock.nowMs(), subject, ...opened(message ?? null, payload) });
  }

  #expectReply(subject: string, message: AnyMessage): void {
    this.#replies.set(subject, message);
    for (const oldest of this.#replies.keys()) {
      if (this.#replies.size <= repliesRemembered) return;
      this.#replies.delete(oldest);
    }
  }
}

function opened(
  message: AnyMessage | null,
  payload: Uint8Array,
): Pick<TailLine, "name" | "version" | "message"> {
  if (message === null) {
    const body = payload.byteLength === 0 ? null : messageJson(payload);
    return { name: payload.byteLength === 0 ? "empty" : "unknown", version: 0, message: body };
  }
  try {
    const body = messageJson(message.decode(payload));
    return { name: message.name, version: message.version, message: body };
  } catch (error) {
    return { name: message.name, version: message.version, message: messageJson(error) };
  }
}
