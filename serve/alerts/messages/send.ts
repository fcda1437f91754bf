import type { AlertSettings } from '../../../aggregate/alerts/model/settings.ts';
import type { Clock } from '../../../infra/ports.ts';
import { type Mail, type Mailer, NO_MAIL } from '../../mail/mailer.ts';
import { isRefusal } from '../http-client/back-off.ts';
import { networkFault } from '../http-client/network-fault.ts';
import {
  POST_MS_MAX,
  type PostResponse,
  PrivateAddressError,
  post,
  TargetConnections,
} from '../http-client/post.ts';
import { signatureOf } from '../http-client/signature.ts';
import { codeBody, codeMail } from './code.ts';
import type { Destination, DestinationType } from './destination.ts';
import { mailOf } from './email.ts';
import type { PageMessage } from './message.ts';
import { PAGERDUTY_URL, pagerdutyBody } from './pagerduty.ts';
import { slackBody } from './slack.ts';
import { teamsBody } from './teams.ts';
import { telegramAnswer, telegramBody } from './telegram.ts';
import { type RenderedTexts, renderTexts } from './templates.ts';
import { webhookBody } from './webhook.ts';

export interface SendOutcome {
  /** Status of the response; 0 if there was none. */
  readonly status: number;
  /** The reason why the message was not accepted; '' if it was. */
  readonly fault: string;
  /** True if a retry cannot succeed. */
  readonly isRefused: boolean;
  /** Retry delay that the destination asks for. */
  readonly retryAfterMs: number;
}

/** The content, in the format of each type of destination. */
interface MessageContent {
  readonly key: string;
  readonly event: string;
  readonly mail: (to: string) => Mail;
  readonly body: () => unknown;
}

export type TelegramSettings = Pick<AlertSettings, 'TELEGRAM_BOT_TOKEN' | 'TELEGRAM_API_URL'>;

interface MessageSenderDependencies {
  readonly clock: Clock;
  readonly mailer: Mailer;
  readonly settings: TelegramSettings;
  /** True: URLs of members may have private addresses. */
  readonly allowsPrivate: boolean;
}

const FAULT_CHARACTERS_MAX = 300;

const NO_TELEGRAM = 'Telegram is not set up here. The operator of this server has to set TELEGRAM_BOT_TOKEN.';
const TELEGRAM_URL = 'https://api.telegram.org';

/** Sends messages to destinations, one attempt at a time. */
export class MessageSender {
  readonly #deps: MessageSenderDependencies;

  constructor(dependencies: MessageSenderDependencies) {
    this.#deps = dependencies;
  }

  /** Advice to the operator if a setting is missing; '' otherwise. */
  missingSetup(type: DestinationType): string {
    const { mailer, settings } = this.#deps;
    if (type === 'email' && !mailer.isConfigured) return NO_MAIL;
    return type === 'telegram' && settings.TELEGRAM_BOT_TOKEN === undefined ? NO_TELEGRAM : '';
  }

  /** Makes one attempt. Failures are part of the result and never thrown. */
  send(destination: Destination, message: PageMessage): Promise<SendOutcome> {
    return this.#deliver(destination, {
      key: message.key,
      event: message.event,
      mail: (to) => mailOf(message, to, textsOf(destination, message)),
      body: () => bodyOf(destination, message),
    });
  }

  /** Sends a code that verifies a contact. */
  sendCode(destination: Destination, key: string, code: string): Promise<SendOutcome> {
    return this.#deliver(destination, {
      key,
      event: 'code',
      mail: (to) => codeMail(key, code, to),
      body: () => codeBody(destination, code),
    });
  }

  async #deliver(destination: Destination, content: MessageContent): Promise<SendOutcome> {
    const { type, settings } = destination;
    const missing = this.missingSetup(type);
    if (missing !== '') return { status: 0, fault: missing, isRefused: true, retryAfterMs: 0 };
    try {
      if (type !== 'email') return outcomeOf(type, await this.#post(destination, content));
      const { fault, ...result } = await this.#deps.mailer.send(content.mail(settings.address ?? ''));
      return { ...result, fault: fault.slice(0, FAULT_CHARACTERS_MAX), retryAfterMs: 0 };
    } catch (error) {
      const fault = networkFault(error, POST_MS_MAX).slice(0, FAULT_CHARACTERS_MAX);
      return { status: 0, fault, isRefused: error instanceof PrivateAddressError, retryAfterMs: 0 };
    }
  }

  async #post(destination: Destination, { key, event, body }: MessageContent): Promise<PostResponse> {
    const { url, allowsPrivate } = this.#targetOf(destination);
    const text = JSON.stringify(body());
    const headers = {
      'x-chain-metrics-event': event,
      'x-chain-metrics-delivery': key,
      'idempotency-key': key,
      ...this.#signature(destination, text),
    };
    const connections = new TargetConnections(url, { allowsPrivate });
    try {
      return await post(connections, { headers, body: text });
    } finally {
      connections.close();
    }
  }

  #targetOf({ type, settings: { url = '' } }: Destination): { url: string; allowsPrivate: boolean } {
    const { settings, allowsPrivate } = this.#deps;
    if (type === 'pagerduty') return { url: url || PAGERDUTY_URL, allowsPrivate };
    if (type !== 'telegram') return { url, allowsPrivate };
    // The operator's own server may be in a private network.
    const { TELEGRAM_API_URL: own, TELEGRAM_BOT_TOKEN: token } = settings;
    return { url: `${own ?? TELEGRAM_URL}/bot${token}/sendMessage`, allowsPrivate: own !== undefined };
  }

  #signature({ type, settings: { secret = '' } }: Destination, body: string): Record<string, string> {
    if (type !== 'webhook' || secret === '') return {};
    const seconds = Math.floor(this.#deps.clock.now() / 1000);
    return { 'x-chain-metrics-signature': signatureOf([secret], seconds, body) };
  }
}

const textsOf = ({ type, template }: Destination, message: PageMessage): RenderedTexts =>
  template === undefined ? {} : renderTexts(template, type, message);

function bodyOf(destination: Destination, message: PageMessage): unknown {
  const { type, settings, template } = destination;
  const { routing_key = '', chat_id = '' } = settings;
  const texts = type === 'webhook' ? {} : textsOf(destination, message);
  switch (type) {
    case 'slack':
      return slackBody(message, texts);
    case 'teams':
      return teamsBody(message, texts);
    case 'pagerduty':
      return pagerdutyBody(message, routing_key, texts);
    case 'telegram':
      return telegramBody(message, chat_id, texts);
    default:
      return webhookBody(message, template?.body ?? '');
  }
}

/** Only Telegram's description is shown: answers of other URLs may contain data that members must not see. */
function outcomeOf(type: DestinationType, { status, retryAfterMs, answer }: PostResponse): SendOutcome {
  const isSuccess = status >= 200 && status <= 299;
  const refused = isRefusal(status);
  if (type !== 'telegram') {
    const fault = isSuccess ? '' : `answered with ${status}`;
    return { status, fault, isRefused: refused, retryAfterMs };
  }
  const telegram = telegramAnswer(answer);
  const said = telegram.description.slice(0, FAULT_CHARACTERS_MAX);
  const fault =
    isSuccess && telegram.isAccepted ? '' : `answered with ${status}${said === '' ? '' : `: ${said}`}`;
  return { status, fault, isRefused: refused, retryAfterMs: Math.max(retryAfterMs, telegram.retryAfterMs) };
}
