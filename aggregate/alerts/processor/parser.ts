import { reasonOf } from '../../../infra/errors.ts';
import { type ParsedEvent, parseDelivery } from '../formats/delivery.ts';
import type { EventHead } from '../model/event.ts';

/** Parses events of the log and the store. Their bodies were valid when they were accepted. */
export class EventParser {
  readonly #onFailure: (error: unknown) => void;

  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** Returns a single refused item if the body cannot be parsed. */
  parse(head: EventHead, body: Buffer): ParsedEvent {
    if (head.kind === 'action') return { head, delivery: null };
    if (head.items) return { head, delivery: { isJson: false, items: head.items, refused: [] } };
    try {
      return { head, delivery: parseDelivery(head, body, head.rules) };
    } catch (error) {
      this.#onFailure(error);
      return {
        head,
        delivery: { isJson: false, items: [], refused: [{ item: 0, reason: reasonOf(error) }] },
      };
    }
  }
}
