import type { Severity } from '../../../aggregate/alerts/model/alert.ts';
import { cardText } from './escape.ts';
import type { PageMessage } from './message.ts';
import type { RenderedTexts } from './templates.ts';
import { bodyOf, factsOf, firstAlert, headlineOf, tagOf } from './texts.ts';

/** A card has at most 28 KB. Escaped as JSON, a character takes up to 4 bytes. */
const BODY_CHARACTERS = 3000;

/** Colour names of Adaptive Cards for red, orange and grey. */
const COLORS: Readonly<Record<Severity, string>> = {
  critical: 'Attention',
  high: 'Attention',
  medium: 'Warning',
  low: 'Warning',
  info: 'Default',
  unknown: 'Default',
};
const RESOLVED_COLOR = 'Good';

/** The body for a workflow of Microsoft Teams: a message with an Adaptive Card. */
export function teamsBody(message: PageMessage, texts: RenderedTexts = {}): object {
  const alert = firstAlert(message);
  const body = texts.text ?? cardText(bodyOf(message, BODY_CHARACTERS));
  const facts = texts.text === undefined ? factsOf(message) : [];
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [
      {
        type: 'TextBlock',
        text: texts.title ?? cardText(`[${tagOf(message)}] ${headlineOf(message)}`),
        weight: 'Bolder',
        size: 'Medium',
        wrap: true,
        color: message.event === 'resolved' ? RESOLVED_COLOR : COLORS[alert.severity],
      },
      ...(body === '' ? [] : [{ type: 'TextBlock', text: cardLines(body), wrap: true }]),
      ...(facts.length === 0
        ? []
        : [
            {
              type: 'FactSet',
              facts: facts.map(({ name, value }) => ({ title: name, value: cardText(value) })),
            },
          ]),
    ],
    actions: [{ type: 'Action.OpenUrl', title: 'Open', url: alert.url }],
    msteams: { width: 'Full' },
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return { type: 'message', attachments: [{ contentType, contentUrl: null, content }] };
}

/** Cards show one line break as a space. */
const cardLines = (text: string): string => text.replace(/\n+/g, '\n\n');
