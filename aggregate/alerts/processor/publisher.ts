import { Batcher } from '../../../infra/coordination/batcher.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { Message } from '../../../infra/ports.ts';

const MESSAGES_MAX = 1000;

/**
 * Publishes concurrent messages in one batch, so that they share the cost of a durable write. If the log does not answer
 * within `waitMsMax`, rejects all callers until it answers. A rejected message may still be written.
 */
export class LogPublisher {
  readonly #batcher: Batcher<Message>;

  /** `onLate` is called with the error when a batch is late. */
  constructor(
    publish: (messages: readonly Message[]) => Promise<void>,
    waitMsMax: number,
    onLate: (error: unknown) => void,
  ) {
    this.#batcher = new Batcher<Message>(
      async (messages) => {
        await publish(messages);
        return [];
      },
      {
        limits: [{ max: MESSAGES_MAX, of: () => 1 }],
        deadline: {
          ms: waitMsMax,
          onLate: () => {
            const error = new ProductError('service_unreachable', 'the log does not answer; try again later');
            onLate(error);
            return error;
          },
        },
      },
    );
  }

  /** Resolves when the message is durable in the log. Throws `service_unreachable` if the log does not answer. */
  add(message: Message): Promise<void> {
    return this.#batcher.add(message);
  }
}
