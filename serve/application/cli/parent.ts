const POLL_MS = 500;

/** Ends this process if npx ends. npx sends signals only to its shell, which does not forward them. */
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
