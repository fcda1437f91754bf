/**
 * Closes things step by step, those of a step at the same time. What does not close keeps nothing else open: every step
 * is made, and the first failure is thrown then.
 */
export async function closeAll(...steps: readonly (() => readonly Promise<unknown>[])[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    for (const outcome of await Promise.allSettled(step())) {
      if (outcome.status === 'rejected') failures.push(outcome.reason);
    }
  }
  if (failures.length > 0) throw failures[0];
}
