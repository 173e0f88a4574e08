export { createFrontendCore, type FrontendCore, frontend } from "./actor.ts";
export { type FrontendConfig, frontendOptions } from "./config.ts";
export { chatTemplateOf, type LoadText, textModelOf } from "./prepare/load-text-model.ts";
export type { RequestPort } from "./relay/request-port.ts";
export { type RequestEvent, requestMachine } from "./request/machine.ts";
export type {
  OutputDelta,
  OutputLogprob,
  RequestEnd,
  RequestHandle,
  RequestSink,
  RequestSummary,
  ServingMode,
  TextLogprob,
} from "./request/request-sink.ts";
export type {
  ChatMessage,
  Prompt,
  ServingRequest,
  WantedOutput,
} from "./request/serving-request.ts";
