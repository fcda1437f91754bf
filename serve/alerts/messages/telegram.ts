import { isIP } from 'node:net';
import { isPublicAddress } from '../http-client/public-address.ts';
import { withoutMentions } from './escape.ts';
import type { PageMessage } from './message.ts';
import type { RenderedTexts } from './templates.ts';
import { bodyOf, factsOf, firstAlert, headlineOf, tagOf } from './texts.ts';

/** Limit of a message in UTF-16 code units. */
const TEXT_UNITS = 4096;
const BODY_CHARACTERS = 3000;

/** The parameters of `sendMessage`. Without a parse mode the text is plain. */
export function telegramBody(message: PageMessage, chatId: string, texts: RenderedTexts = {}): object {
  const { acknowledgeUrl } = message;
  const hasButton = acknowledgeUrl !== '' && isPublicUrl(acknowledgeUrl);
  const button = { text: 'Acknowledge', url: acknowledgeUrl };
  return {
    chat_id: chatId,
    text: textOf(message, hasButton, texts),
    link_preview_options: { is_disabled: true },
    ...(hasButton ? { reply_markup: { inline_keyboard: [[button]] } } : {}),
  };
}

function textOf(message: PageMessage, hasButton: boolean, texts: RenderedTexts): string {
  const { acknowledgeUrl } = message;
  const links = [
    ...(hasButton || acknowledgeUrl === '' ? [] : [`Acknowledge: ${acknowledgeUrl}`]),
    `Open: ${firstAlert(message).url}`,
  ].join('\n');
  const facts = factsOf(message).map(({ name, value }) => `${name}: ${value}`);
  const blocks = [
    texts.title ?? withoutMentions(`[${tagOf(message)}] ${headlineOf(message)}`),
    texts.text ?? withoutMentions(`${bodyOf(message, BODY_CHARACTERS)}\n\n${facts.join('\n')}`.trim()),
  ];
  const text = blocks.filter((block) => block !== '').join('\n\n');
  return `${cutUnits(text, TEXT_UNITS - links.length - 2)}\n\n${links}`;
}

/** Cuts a text to a number of UTF-16 code units without splitting a character. */
function cutUnits(text: string, unitsMax: number): string {
  return text.length <= unitsMax ? text : `${text.slice(0, unitsMax - 3).replace(/[\ud800-\udbff]$/, '')}...`;
}

/** Telegram refuses buttons with a URL of a private host. */
function isPublicUrl(text: string): boolean {
  const host = new URL(text).hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return isPublicAddress(host);
  return host.includes('.') && !/\.(localhost|local|internal|home\.arpa)\.?$/.test(host);
}

/** The response of Telegram. */
interface TelegramAnswer {
  readonly isAccepted: boolean;
  readonly description: string;
  readonly retryAfterMs: number;
}

export function telegramAnswer(body: string): TelegramAnswer {
  const { ok, description = '', parameters } = parsed(body);
  const seconds = Number(parameters?.retry_after ?? 0);
  return {
    isAccepted: ok === true,
    description: String(description),
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : 0,
  };
}

interface TelegramResponse {
  readonly ok?: unknown;
  readonly description?: unknown;
  readonly parameters?: { readonly retry_after?: unknown };
}

function parsed(body: string): TelegramResponse {
  try {
    return (JSON.parse(body) ?? {}) as TelegramResponse;
  } catch {
    return {};
  }
}
