import { killSelf } from './failure.ts';

const POLL_MS = 500;

/**
 * Ends this process with the one that stands in for it. `serve/bin.js` on a Node that cannot become another one holds a
 * channel to this process: when the channel closes, that process was killed, and this one must not keep the data
 * directory. npx passes a signal to its shell only, which dies without passing it on.
 */
export function endWithParent(): void {
  if (process.send) {
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
