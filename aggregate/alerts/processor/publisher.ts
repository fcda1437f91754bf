import { Batcher } from '../../../infra/coordination/batcher.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { Message } from '../../../infra/ports.ts';

const MESSAGES_MAX = 1000;

/**
 * Publishes concurrent messages in one batch, which shares the cost of making them durable. When the log does not
 * answer within `waitMsMax`, all callers and later ones are rejected until it does. A rejected message that was sent
 * to the log may still be written.
 */
export class LogPublisher {
  readonly #batcher: Batcher<Message>;
  /** Called when the log does not answer in time. */
  onAway: (error: unknown) => void = () => {};

  constructor(publish: (messages: readonly Message[]) => Promise<void>, waitMsMax: number) {
    const onLate = () => {
      const error = new ProductError('service_unreachable', 'the log does not answer; send it again later');
      this.onAway(error);
      return error;
    };
    this.#batcher = new Batcher<Message>(
      async (messages) => {
        await publish(messages);
        return [];
      },
      { limits: [{ max: MESSAGES_MAX, of: () => 1 }], deadline: { ms: waitMsMax, onLate } },
    );
  }

  add(message: Message): Promise<void> {
    return this.#batcher.add(message);
  }
}
