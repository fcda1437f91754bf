import { killSelf } from './failure.ts';

const POLL_MS = 500;

/** Set by `serve/bin.js` for the process that it holds a channel to. */
const HELD = 'CHAIN_METRICS_HELD';

/**
 * Ends this process with the one that stands in for it. `serve/bin.js` on a Node that cannot become another one holds a
 * channel to this process: when the channel closes, that process was killed, and this one must not keep the data
 * directory. A channel of anybody else says nothing: a supervisor may close its own and leave this process running.
 * npx passes a signal to its shell only, which dies without passing it on.
 */
export function endWithParent(): void {
  const isHeld = process.env[HELD] !== undefined;
  delete process.env[HELD];
  if (process.send && isHeld) {
    process.once('disconnect', () => killSelf());
    process.channel?.unref();
    if (!process.connected) killSelf();
  } else if (process.env.npm_command === 'exec') {
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      process.kill(process.pid, 'SIGTERM');
    }, POLL_MS);
    timer.unref();
  }
}
