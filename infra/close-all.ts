/**
 * Runs the steps in order, and the promises of one step concurrently. All steps run even if one fails; the first failure
 * is thrown at the end.
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
