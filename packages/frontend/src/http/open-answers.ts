/** Hot path: twice per request. */
import type { Socket } from "node:net";
import type { RequestHandle } from "../request/request-sink.ts";

/**
 * The answers that each connection still waits for. A response that stands behind another one of its connection hears
 * nothing when the client leaves, so the connection itself is listened to, once for all of its requests.
 */
export class OpenAnswers {
  readonly #handles = new WeakMap<Socket, Set<RequestHandle>>();

  /** Cancels the request when the connection closes, unless it is removed before. */
  add(socket: Socket, handle: RequestHandle): void {
    const known = this.#handles.get(socket);
    if (known !== undefined) {
      known.add(handle);
      return;
    }
    const handles = new Set([handle]);
    this.#handles.set(socket, handles);
    socket.once("close", () => {
      for (const open of handles) open.cancel();
      handles.clear();
    });
  }

  /** The answer is complete. */
  remove(socket: Socket, handle: RequestHandle): void {
    this.#handles.get(socket)?.delete(handle);
  }
}
