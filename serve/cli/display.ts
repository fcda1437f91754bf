import type { WriteStream } from 'node:tty';
import progress from 'cli-progress';

/** Reports the progress of a long operation. */
export interface Display {
  /** `done` goes from 0 to 1; null when the total is unknown. */
  show(stage: string, done: number | null, words: string): void;
  /** Leaves what was shown last and goes on below it. */
  end(): void;
}

const LINE_EVERY_MS = 5000;
const BAR_WIDTH = 24;

/** A bar for people, a line now and then for logs, nothing for programs. */
export function openDisplay(stream: WriteStream, { silent = false } = {}): Display {
  if (silent) return { show: () => undefined, end: () => undefined };
  return stream.isTTY ? barOn(stream) : linesOn(stream);
}

function barOn(stream: WriteStream): Display {
  let bar: progress.SingleBar | null = null;
  const end = () => {
    bar?.stop();
    bar = null;
  };
  let shown = '';
  return {
    show: (stage, done, words) => {
      if (stage !== shown) end();
      shown = stage;
      if (!bar) {
        bar = new progress.SingleBar({
          stream,
          format: (_options, _params, payload) => barText(payload as Shown),
          hideCursor: true,
          linewrap: false,
        });
        bar.start(1, 0, { stage, done, words } satisfies Shown);
      }
      bar.update(done ?? 0, { stage, done, words } satisfies Shown);
    },
    end,
  };
}

interface Shown {
  readonly stage: string;
  readonly done: number | null;
  readonly words: string;
}

function barText({ stage, done, words }: Shown): string {
  if (done === null) return `${stage}  ${words}`;
  const full = Math.round(Math.min(1, done) * BAR_WIDTH);
  const bar = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)}`;
  return `${stage}  ${bar} ${String(Math.floor(Math.min(1, done) * 100)).padStart(3)} %  ${words}`;
}

function linesOn(stream: NodeJS.WritableStream): Display {
  let last = Date.now();
  return {
    show: (stage, done, words) => {
      if (Date.now() - last < LINE_EVERY_MS) return;
      last = Date.now();
      const percent = done === null ? '' : ` ${Math.floor(Math.min(1, done) * 100)} %`;
      stream.write(`${stage}${percent}, ${words}\n`);
    },
    end: () => undefined,
  };
}
