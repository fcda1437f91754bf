import { reasonOf } from '../../../infra/errors.ts';
import { type ParsedEvent, parseDelivery } from '../formats/delivery.ts';
import type { EventHead } from '../model/event.ts';
import type { EventRules } from '../model/rules.ts';

/** Parses events of the log and of the store, whose bodies were parsed before when they were accepted. */
export class EventParser {
  readonly #rules: EventRules;
  readonly #onFailure: (error: unknown) => void;

  /** `rules` take the place of those that an event was accepted without. */
  constructor(rules: EventRules, onFailure: (error: unknown) => void) {
    this.#rules = rules;
    this.#onFailure = onFailure;
  }

  /**
   * Parses by the given rules, or else by those that the event was accepted with. An event whose body cannot be
   * parsed has one refused item and no others.
   */
  parse(head: EventHead, body: Buffer, rules?: EventRules): ParsedEvent {
    if (head.kind === 'action') return { head, delivery: null };
    if (head.items) return { head, delivery: { isJson: false, items: head.items, refused: [] } };
    try {
      return { head, delivery: parseDelivery(head, body, rules ?? { ...this.#rules, ...head.rules }) };
    } catch (error) {
      this.#onFailure(error);
      return {
        head,
        delivery: { isJson: false, items: [], refused: [{ item: 0, reason: reasonOf(error) }] },
      };
    }
  }
}
