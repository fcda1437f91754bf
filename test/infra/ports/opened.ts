/** What a test of a port is given: an empty implementation, and how to end it. */
export interface Opened<Port> {
  readonly port: Port;
  /** Ends it and opens it again on what it kept; absent where nothing is kept. */
  reopen?(): Promise<Port>;
  close(): Promise<void>;
}

export const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/** A promise and its ends, for handlers that a test holds back. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((done) => {
    open = done;
  });
  return { opened, open: () => open() };
}

/** Waits until something holds; a test that waits in vain fails with what it waited for. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  waitMsMax = 10_000,
): Promise<void> {
  const deadline = Date.now() + waitMsMax;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await pause(2);
  }
}
