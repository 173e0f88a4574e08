/**
 * The part of node-llama-cpp that the child uses. The package is in a folder of its own, so its types are
 * not at hand when this one is built.
 */

export type TokenBias = { set(token: number, bias: { readonly logit: number }): TokenBias };

export interface NativeSampleOptions {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly seed?: number;
  readonly tokenBias?: TokenBias;
  readonly repeatPenalty?: {
    readonly punishTokens: number[];
    readonly maxPunishTokens: number;
    readonly penalty: number;
    readonly frequencyPenalty: number;
    readonly presencePenalty: number;
  };
}

export interface GenerateNext {
  readonly token?: true;
  readonly logits?:
    | true
    | {
        readonly filter: {
          readonly tokens: readonly number[];
          readonly includeTop: number;
          readonly includeSelected: boolean;
        };
      };
  readonly totalLogitWeight?: boolean;
  readonly options: NativeSampleOptions;
}

/** A token to feed, and whether the next one is wanted. */
export type EvaluateItem = number | [token: number, options: { generateNext: GenerateNext }];

export interface NextToken {
  readonly token?: number | null;
  /** Best first. */
  readonly logits?: ReadonlyMap<number, number>;
  readonly totalLogitWeight?: number;
}

export interface NativeSequence {
  readonly nextTokenIndex: number;
  controlledEvaluate(
    items: readonly EvaluateItem[],
  ): Promise<readonly ({ readonly next: NextToken } | undefined)[]>;
  adaptStateToTokens(tokens: readonly number[], allowShift: boolean): Promise<void>;
  clearHistory(): Promise<void>;
  saveStateToFile(path: string): Promise<unknown>;
  loadStateFromFile(path: string, risk: { readonly acceptRisk: true }): Promise<void>;
  dispose(): Promise<void>;
}

export interface NativeContext {
  readonly contextSize: number;
  getSequence(options: {
    readonly contextShift: { readonly strategy: () => never };
  }): NativeSequence;
}

export interface NativeModel {
  isEogToken(token: number): boolean;
  iterateAllTokens(): Iterable<number>;
  createContext(options: {
    readonly contextSize: number;
    readonly sequences: number;
    readonly batchSize: number;
    readonly threads: number;
  }): Promise<NativeContext>;
}

/** A grammar that was read. */
export type NativeGrammar = object;

export interface NativeGrammarState {
  /** What the bindings know it by; internal to the library. */
  readonly _state: unknown;
}

/** Internal to the library, which asks the same of it: whether and how a grammar goes on with a token. */
export interface GrammarBindings {
  canBeNextTokenForGrammarEvaluationState(state: unknown, token: number): boolean;
  acceptGrammarEvaluationStateToken(state: unknown, token: number): void;
}

export interface NativeLlama {
  readonly llamaCppRelease: { readonly repo: string; readonly release: string };
  /** Internal to the library; may be absent in another version. */
  readonly _bindings?: { readonly AddonSampler?: Partial<GrammarBindings> };
  /** Rejects for what is no grammar. */
  createGrammar(options: { readonly grammar: string }): Promise<NativeGrammar>;
  loadModel(options: { readonly modelPath: string }): Promise<NativeModel>;
}

export interface NativeModule {
  getLlama(options: {
    readonly gpu: false;
    readonly build: "never";
    readonly skipDownload: true;
    readonly maxThreads: number;
    readonly logLevel: string;
    readonly logger: (level: string, message: string) => void;
  }): Promise<NativeLlama>;
  readonly TokenBias: { for(model: NativeModel): TokenBias };
  readonly LlamaGrammarEvaluationState: new (options: {
    readonly model: NativeModel;
    readonly grammar: NativeGrammar;
  }) => NativeGrammarState;
}
