import type { WriteStream } from 'node:tty';
import progress from 'cli-progress';
import { formatDuration } from './format.ts';

/** Reports the progress of a long operation, stage by stage. */
export interface Display {
  show(stage: string, step: ProgressStep): void;
  /** Marks the last stage as complete. `words` replaces its text. */
  complete(words?: string): void;
  /** Keeps the last line on the terminal; later output follows below it. */
  end(): void;
}

export interface ProgressStep {
  /** From 0 to 1; null if the total is unknown. */
  readonly done: number | null;
  readonly words: string;
  /** Until the end of this stage; absent if unknown. */
  readonly secondsLeft?: number | undefined;
}

export const LINE_EVERY_MS = 5000;
const BAR_WIDTH = 24;
/** A stage shows 100 % only if it is complete: work follows its last step. */
const UNFINISHED_MAX = 0.99;

/** A bar on a terminal, a line every few seconds in a log, nothing if `silent`. */
export function openDisplay(stream: WriteStream, { silent = false } = {}): Display {
  if (silent) return { show: () => undefined, complete: () => undefined, end: () => undefined };
  return stream.isTTY ? barOn(stream) : linesOn(stream);
}

export interface ShownStep extends ProgressStep {
  readonly stage: string;
}

function barOn(stream: WriteStream): Display {
  let bar: progress.SingleBar | null = null;
  let last: ShownStep | null = null;
  const end = () => {
    bar?.stop();
    bar = null;
    last = null;
  };
  const draw = (shown: ShownStep) => {
    if (!bar) {
      bar = new progress.SingleBar({
        stream,
        format: (_options, _params, payload) => barText(payload as ShownStep),
        hideCursor: true,
        linewrap: false,
      });
      bar.start(1, 0, shown);
    }
    bar.update(shown.done ?? 0, shown);
  };
  return {
    show: (stage, step) => {
      if (last !== null && stage !== last.stage) end();
      last = { stage, ...unfinished(step) };
      draw(last);
    },
    complete: (words) => {
      if (last !== null) draw({ ...last, ...finished(last, words) });
      end();
    },
    end,
  };
}

export function barText({ stage, done, words, secondsLeft }: ShownStep): string {
  const text = `${words}${leftWords(secondsLeft)}`;
  if (done === null) return `${stage}  ${text}`;
  const full = Math.round(done * BAR_WIDTH);
  const bar = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)}`;
  return `${stage}  ${bar} ${String(percentOf(done)).padStart(3)} %  ${text}`;
}

/** Writes at most one line every `everyMs`. */
export function linesOn(stream: NodeJS.WritableStream, everyMs = LINE_EVERY_MS): Display {
  let written = Date.now();
  let last: (ShownStep & { readonly isWritten: boolean }) | null = null;
  const write = ({ stage, done, words, secondsLeft }: ShownStep) => {
    written = Date.now();
    const percent = done === null ? '' : ` ${percentOf(done)} %`;
    stream.write(`${stage}${percent}, ${words}${leftWords(secondsLeft)}\n`);
  };
  return {
    show: (stage, step) => {
      const isDue = Date.now() - written >= everyMs;
      const wasWritten = last?.stage === stage && last.isWritten;
      last = { stage, ...unfinished(step), isWritten: isDue || wasWritten };
      if (isDue) write(last);
    },
    complete: (words) => {
      // A stage that ended before its first line gets none.
      if (last?.isWritten) write({ ...last, ...finished(last, words) });
      last = null;
    },
    end: () => {
      last = null;
    },
  };
}

export const unfinished = ({ done, words, secondsLeft }: ProgressStep): ProgressStep => ({
  done: done === null ? null : Math.min(UNFINISHED_MAX, done),
  words,
  secondsLeft: done !== null && done < 1 ? secondsLeft : undefined,
});

export const finished = ({ done, words: before }: ProgressStep, words = before): ProgressStep => ({
  done: done === null ? null : 1,
  words,
  secondsLeft: undefined,
});

const percentOf = (done: number) => Math.floor(done * 100);

function leftWords(seconds: number | undefined): string {
  if (seconds === undefined) return '';
  const whole = Math.max(1, Math.round(seconds));
  return `, ${whole < 10 ? `${whole} s` : formatDuration(whole)} left`;
}
