/** An empty implementation of a port for a test. */
export interface Opened<Port> {
  readonly port: Port;
  /** Closes it and opens it again on the same data; absent when it stores none. */
  reopen?(): Promise<Port>;
  close(): Promise<void>;
}

export const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/** A promise that a test resolves, for handlers that wait for it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((done) => {
    open = done;
  });
  return { opened, open: () => open() };
}

const LOOK_MS_MIN = 2;
const LOOK_MS_MAX = 100;
/** Of the time waited so far: who waits longer looks less often, since a look may cost more than what it waits for. */
const LOOK_SHARE = 0.1;
/** Just below the limit of a test, so that the failure names what was waited for. */
const WAIT_MS_MAX = 110_000;

/** Waits until a condition holds; after the time limit the test fails with its description. */
export async function until(
  description: string,
  holds: () => boolean | Promise<boolean>,
  waitMsMax = WAIT_MS_MAX,
): Promise<void> {
  const begun = Date.now();
  while (!(await holds())) {
    const waitedMs = Date.now() - begun;
    if (waitedMs > waitMsMax) throw new Error(`timed out before ${description}`);
    await pause(Math.min(LOOK_MS_MAX, Math.max(LOOK_MS_MIN, waitedMs * LOOK_SHARE)));
  }
}
