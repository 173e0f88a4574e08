export {
  type ChunkHeader,
  ChunkJoiner,
  type ChunkJoinerOptions,
  chunkHeaderBytes,
  chunkHeaderNames,
  type JoinedPayload,
  readChunkHeader,
  splitPayload,
  writeChunkHeader,
} from "./chunks.ts";
export {
  bytesToTokens,
  pack,
  tokensToBytes,
  unpack,
} from "./codec.ts";
export {
  type ErrorCode,
  type ErrorDetails,
  type ErrorRule,
  errorRules,
  fromWireError,
  isErrorCode,
  ServingError,
  toWireError,
  type WireError,
} from "./errors.ts";
export {
  type ActorId,
  actorId,
  type BookingId,
  type HandoffId,
  handoffId,
  type ModelName,
  modelName,
  type NamespaceName,
  namespaceName,
  nameToken,
  type RequestId,
  requestId,
  toBase32,
  type WorkerId,
  workerId,
} from "./ids.ts";
export { issueWords } from "./issue-words.ts";
export {
  type AnyMessage,
  arrayMessage,
  FieldReader,
  type MessageType,
  malformed,
  schemaMessage,
} from "./message-type.ts";
export {
  type ActivationState,
  ActorHeartbeat,
  type ActorState,
  activationStates,
  actorStates,
} from "./messages/actor-heartbeat-v1.ts";
export {
  Artifact,
  GetArtifact,
} from "./messages/artifact-v1.ts";
export {
  Catalog,
  type CatalogModel,
  type CatalogWorker,
  type Why,
  type WhyCode,
  whyCodes,
} from "./messages/catalog-v1.ts";
export { ExplainRequest, RequestExplained } from "./messages/explain-request-v1.ts";
export {
  Dispatched,
  type FinishReason,
  type Leg,
  LegFailed,
  PrefillDone,
  Queued,
} from "./messages/frontend-facts-v1.ts";
export {
  type GenerationParams,
  GenerationWork,
} from "./messages/generation-work-v1.ts";
export { GetKvHistory } from "./messages/get-kv-history-v1.ts";
export {
  GetKvEvents,
  type KvEvent,
  KvEvents,
  KvHistory,
  type KvTier,
  packKvEvents,
  unpackKvEvents,
} from "./messages/kv-events-v1.ts";
export {
  KvFeed,
  type KvFeedKind,
} from "./messages/kv-feed-v1.ts";
export {
  KvHandoff,
  type KvTransport,
} from "./messages/kv-handoff-v1.ts";
export { type KvPosition, KvPositions } from "./messages/kv-positions-v1.ts";
export { LoadReport, liveStateLength } from "./messages/load-report-v1.ts";
export {
  type OutputToken,
  readLogprobs,
  readOutputTokens,
  type TokenLogprob,
  type TokenLogprobs,
  writeLogprobs,
  writeOutputTokens,
} from "./messages/output-token.ts";
export { ProbeReply } from "./messages/probe-v1.ts";
export {
  type RequestHead,
  readHead,
  requestHeadLayout,
  requestHeadLength,
  writeHead,
} from "./messages/request-head.ts";
export {
  type RequestState,
  type RequestTransition,
  RequestTransitions,
  requestStates,
  type TransitionDetails,
} from "./messages/request-transitions-v1.ts";
export { type ExplainedCandidate, RouteExplained } from "./messages/route-explained-v1.ts";
export {
  RouteDecode,
  RoutePrefill,
} from "./messages/route-v1.ts";
export {
  Booking,
  CancelRoute,
} from "./messages/router-facts-v1.ts";
export type {
  DecodeOverrides,
  RequestSession,
  RouterOverrides,
  RoutingConstraints,
  RoutingRules,
} from "./messages/routing-rules.ts";
export { SessionBound } from "./messages/session-bound-v1.ts";
export {
  type FrameEntry,
  GetFrames,
  MissingFrames,
  type StreamEnd,
  TokenFrame,
} from "./messages/token-frame-v1.ts";
export {
  Abort,
  Decode,
  Extend,
  Generate,
  Prefill,
  Release,
} from "./messages/worker-commands-v1.ts";
export {
  type ModelCard,
  modelCardSchema,
  RegistrationReply,
  type RouterConfig,
  routerConfigSchema,
  type WorkerCapacity,
  WorkerDeregistration,
  WorkerRegistration,
  type WorkerType,
  workerCapacitySchema,
  workerRegistrationSchema,
  workerTypes,
} from "./messages/worker-registration-v1.ts";
export {
  frontendsQueue,
  routersQueue,
  type SubjectParty,
  type SubjectRow,
  subjectRow,
  subjectTable,
} from "./subject-table.ts";
export {
  type ActorRole,
  actorRoles,
  type FrontendFact,
  frontendFacts,
  isActorRole,
  noModel,
  type RouterRole,
  routeVerb,
  Subjects,
  subjectRoot,
  type WorkerVerb,
  workerVerbs,
} from "./subjects.ts";
