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

/** Waits until a condition holds; after the time limit the test fails with its description. */
export async function until(
  description: string,
  holds: () => boolean | Promise<boolean>,
  waitMsMax = 10_000,
): Promise<void> {
  const deadline = Date.now() + waitMsMax;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`timed out before ${description}`);
    await pause(2);
  }
}
