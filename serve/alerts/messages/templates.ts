import mustache from 'mustache';
import { oneLine, truncate } from '../../../aggregate/alerts/formats/values.ts';
import type { DestinationType, MessageTemplate } from './destination.ts';
import { cardText, slackText, withoutMentions } from './escape.ts';
import type { PageMessage } from './message.ts';
import { FULL_SAMPLE, SAMPLES, templateData } from './template-data.ts';
import { renderTemplate, valueIn } from './template-writer.ts';

export type TemplatePart = keyof MessageTemplate;

export const NO_TEMPLATE: MessageTemplate = { title: '', text: '', body: '' };

/** The parts of a template by type of destination. */
export const TEMPLATE_PARTS: Readonly<Record<DestinationType, readonly TemplatePart[]>> = {
  email: ['title', 'text'],
  slack: ['title', 'text'],
  teams: ['title', 'text'],
  pagerduty: ['title'],
  telegram: ['title', 'text'],
  webhook: ['body'],
};

const TEMPLATE_BYTES_MAX = 4096;
const RESULT_CHARACTERS_MAX = 16_384;
/** Limit of a message in a chat. */
const CHAT_CHARACTERS_MAX = 3000;
const TITLE_CHARACTERS_MAX = 300;
const DEPTH_MAX = 2;

/** A refused template; the message is shown to the user. */
export class TemplateError extends Error {
  readonly part: TemplatePart;

  constructor(part: TemplatePart, text: string) {
    super(text);
    this.part = part;
  }
}

/** Escaped title and text; if absent, the built-in texts are used. */
export interface RenderedTexts {
  readonly title?: string;
  readonly text?: string;
}

const plain = (text: string): string => text;
const ESCAPES: Readonly<Record<DestinationType, (text: string) => string>> = {
  // The whole text is escaped when it becomes HTML.
  email: plain,
  slack: slackText,
  teams: cardText,
  pagerduty: plain,
  telegram: withoutMentions,
  webhook: plain,
};

/** Joins the title to one line, because values may have line breaks. */
export function renderTexts(
  template: MessageTemplate,
  type: DestinationType,
  message: PageMessage,
): RenderedTexts {
  const data = templateData(message);
  const escapeText = ESCAPES[type];
  const render = (part: TemplatePart, charactersMax: number) =>
    renderTemplate(template[part], data, { escapeText, charactersMax }).text;
  const title = template.title && oneLine(render('title', TITLE_CHARACTERS_MAX)).trim();
  const text =
    template.text && render('text', type === 'email' ? RESULT_CHARACTERS_MAX : CHAT_CHARACTERS_MAX).trim();
  return { ...(title === '' ? {} : { title }), ...(text === '' ? {} : { text }) };
}

const jsonText = (text: string): string => JSON.stringify(text).slice(1, -1);

/** The body of a webhook; null if the result is not valid JSON or too long. */
export function renderBody(template: string, message: PageMessage): unknown {
  const limits = { escapeText: jsonText, charactersMax: RESULT_CHARACTERS_MAX };
  const { text, isCut } = renderTemplate(template, templateData(message), limits);
  if (isCut) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Throws `TemplateError` if a sample cannot be rendered. Returns the unknown names. */
export function checkTemplate(template: MessageTemplate, type: DestinationType): readonly string[] {
  const unknown: string[] = [];
  for (const part of ['title', 'text', 'body'] as const) {
    const text = template[part];
    if (text === '') continue;
    if (!TEMPLATE_PARTS[type].includes(part)) throw new TemplateError(part, notOf(type));
    if (Buffer.byteLength(text) > TEMPLATE_BYTES_MAX)
      throw new TemplateError(part, `Enter at most ${TEMPLATE_BYTES_MAX} bytes.`);
    checkTags({ part, text, unknown }, parse(part, text), [templateData(FULL_SAMPLE)]);
    if (part === 'body') checkJson(text);
  }
  return [...new Set(unknown)];
}

/** A token of mustache: kind, name, start, end, and the tokens of a section. */
type Token = readonly [kind: string, name: string, start: number, end: number, inner?: readonly Token[]];

interface Checked {
  readonly part: TemplatePart;
  readonly text: string;
  readonly unknown: string[];
}

function parse(part: TemplatePart, text: string): readonly Token[] {
  try {
    return new mustache.Writer().parse(text) as readonly Token[];
  } catch (error) {
    const [, what = '', at = '0'] = /^(.*) at (\d+)$/.exec((error as Error).message) ?? [];
    throw new TemplateError(part, `${what || 'A tag is not closed'} ${placeOf(text, Number(at))}.`);
  }
}

const REFUSED: Readonly<Record<string, string>> = {
  '>': 'Partials are not available',
  '&': 'Tags must have two braces and no &',
  '=': 'Delimiters cannot be changed',
};

function checkTags(checked: Checked, tokens: readonly Token[], views: readonly unknown[], depth = 0): void {
  const { part, text, unknown } = checked;
  for (const [kind, name, start, , inner] of tokens) {
    if (kind === 'text' || kind === '!') continue;
    const refused = REFUSED[kind];
    if (refused !== undefined) throw new TemplateError(part, `${refused} ${placeOf(text, start)}.`);
    const value = valueIn(views, name);
    if (value === undefined) unknown.push(name);
    if (inner === undefined) continue;
    if (depth === DEPTH_MAX)
      throw new TemplateError(
        part,
        `Sections are nested more than ${DEPTH_MAX} deep ${placeOf(text, start)}.`,
      );
    const [item = value] = Array.isArray(value) ? value : [];
    checkTags(checked, inner, kind === '#' ? [...views, item] : views, depth + 1);
  }
}

function checkJson(text: string): void {
  for (const message of SAMPLES) {
    if (renderBody(text, message) !== null) continue;
    const limits = { escapeText: jsonText, charactersMax: RESULT_CHARACTERS_MAX };
    const { text: json, isCut } = renderTemplate(text, templateData(message), limits);
    throw new TemplateError(
      'body',
      isCut
        ? `The result has more than ${RESULT_CHARACTERS_MAX} characters for the sample.`
        : `The result is not valid JSON for a sample of the event ${message.event}: ${truncate(faultOf(json), 200)}`,
    );
  }
}

function faultOf(json: string): string {
  try {
    JSON.parse(json);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

const notOf = (type: DestinationType): string =>
  `Templates of the type ${type} have these parts: ${TEMPLATE_PARTS[type].join(', ')}.`;

function placeOf(text: string, at: number): string {
  const lines = text.slice(0, at).split('\n');
  return `in line ${lines.length}, character ${(lines.at(-1) ?? '').length + 1}`;
}
