import type { EncodeJob } from "./encode/encode-job.ts";

const texts = 24;
const idsPerText = 1024;
/** Each text is encoded anew, then again as one that is known. */
const roundsPerText = 2;

/** Where the texts come from. */
export interface WarmUpVocabulary {
  readonly vocabularySize: number;
  decode(ids: ArrayLike<number>): string;
}

/**
 * Encodes text of every kind that a vocabulary has words of, in steps, so that the engine compiles what encoding runs and
 * the tables are in the processor's caches.
 */
export class WarmUp {
  private readonly vocabulary: WarmUpVocabulary;
  private readonly startJob: (text: string) => EncodeJob;
  private text = "";
  private job: EncodeJob | undefined;
  private roundsDone = 0;

  constructor(vocabulary: WarmUpVocabulary, startJob: (text: string) => EncodeJob) {
    this.vocabulary = vocabulary;
    this.startJob = startJob;
  }

  /** Encodes about `maxWords` words more, of one text at most. True when all is done. */
  step(maxWords: number): boolean {
    this.job ??= this.startNext();
    if (this.job.step(maxWords)) {
      this.job.ids();
      this.job = undefined;
      this.roundsDone += 1;
    }
    return this.roundsDone === texts * roundsPerText;
  }

  private startNext(): EncodeJob {
    if (this.roundsDone % roundsPerText === 0) {
      this.text = this.makeText(this.roundsDone / roundsPerText);
    }
    return this.startJob(this.text);
  }

  /** Tokens from all over the vocabulary, so that there are words of its languages, code, numbers and marks. */
  private makeText(index: number): string {
    const { vocabularySize } = this.vocabulary;
    const ids = Uint32Array.from(
      { length: idsPerText },
      (_, at) => ((at * texts + index) * stride) % vocabularySize,
    );
    return this.vocabulary.decode(ids) + (index % 4 === 0 ? longText : oddText);
  }
}

/** What vocabularies have few words of: pairs of surrogates and single ones, marks, digits, runs of white space. */
const oddText =
  " \ud83d\ude00\ud83d\udc4d\ud83c\udffd \ud801\udc00\ud801\udc28 \ud800 e\u0301 a\u0308 \u0e44\u0e17\u0e22 I'LL it's\t\t12345678 1.5\r\n\n    //-- ";

/** The same with words that are merged by other means: of hundreds of characters, and of thousands. */
const longText = `${oddText}${"abc".repeat(100)} ${"\u5b57\u7b26".repeat(400)} ${"xyz".repeat(800)} ${oddText.repeat(8)}`;

/** A prime, so that every id comes up before any comes again. */
const stride = 7919;
