const POLL_MS = 500;

/** Ends this process with npx, which passes a signal to its shell only: that dies without passing it on. */
export function endWithNpx(): void {
  if (process.env.npm_command !== 'exec') return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, POLL_MS);
  timer.unref();
}
