import { createTransport, type Transporter } from 'nodemailer';
import { withTimeout } from '../../infra/coordination/with-timeout.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { MAIL_ADDRESS, type MailSettings } from './settings.ts';

/** Longest time of a mail, from the connection to the reply to DATA. */
const MAIL_MS_MAX = 10_000;

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Left part of the Message-ID, the same for duplicates. */
  readonly id: string;
  /** Left part of the Message-ID that all mails of a conversation refer to; '' for none. */
  readonly thread: string;
  readonly isImportant: boolean;
}

interface MailResult {
  /** SMTP status; 0 without a reply. */
  readonly status: number;
  /** The error; '' if the mail was accepted. */
  readonly fault: string;
  /** Whether the server will never accept this mail. */
  readonly isRefused: boolean;
}

export const NO_MAIL =
  'E-mail is not set up here. The operator of this server has to set SMTP_URL and SMTP_FROM.';

/** Sends mails over SMTP. No part of a mail is interpreted as a file, a URL or a header. */
export class Mailer {
  readonly #from: string;
  readonly #transport: Transporter | null;

  constructor({ SMTP_URL, SMTP_FROM = '', SMTP_REQUIRE_TLS }: MailSettings) {
    if (SMTP_URL !== undefined && SMTP_FROM === '') {
      throw new ProductError(
        'setting_invalid',
        'SMTP_FROM=: expected an e-mail address, because SMTP_URL is set',
      );
    }
    this.#from = SMTP_FROM;
    this.#transport =
      SMTP_URL === undefined
        ? null
        : createTransport({
            url: SMTP_URL,
            requireTLS: SMTP_REQUIRE_TLS,
            disableFileAccess: true,
            disableUrlAccess: true,
          });
  }

  /** Whether there is a server to send to. */
  get isConfigured(): boolean {
    return this.#transport !== null;
  }

  /** Connects and authenticates. Returns the error; '' if it succeeds. */
  async check(): Promise<string> {
    if (this.#transport === null) return NO_MAIL;
    return withTimeout(MAIL_MS_MAX, this.#transport.verify()).then(
      () => '',
      (error) => resultOf(error as SmtpError).fault,
    );
  }

  /** Sends a mail. Returns errors instead of throwing them. */
  async send(mail: Mail): Promise<MailResult> {
    if (this.#transport === null) return { status: 0, fault: NO_MAIL, isRefused: true };
    if (!MAIL_ADDRESS.test(mail.to)) return { status: 0, fault: NO_ADDRESS, isRefused: true };
    const signal = AbortSignal.timeout(MAIL_MS_MAX);
    try {
      await this.#transport.sendMail({ ...this.#partsOf(mail), signal });
      return { status: 250, fault: '', isRefused: false };
    } catch (error) {
      return signal.aborted ? { status: 0, fault: LATE, isRefused: false } : resultOf(error as SmtpError);
    }
  }

  #partsOf({ to, subject, text, html, id, thread, isImportant }: Mail) {
    const host = this.#from.slice(this.#from.lastIndexOf('@') + 1);
    return {
      from: { name: 'Chain Metrics', address: this.#from },
      to: { name: '', address: to },
      envelope: { from: this.#from, to },
      subject,
      text,
      html,
      messageId: `<${idPart(id)}@${host}>`,
      ...(thread === '' ? {} : { references: `<${idPart(thread)}@${host}>` }),
      headers: {
        'Auto-Submitted': 'auto-generated',
        'X-Auto-Response-Suppress': 'All',
        ...(isImportant ? { Importance: 'high' } : {}),
      },
    };
  }
}

const NO_ADDRESS = 'this is not a single e-mail address';
const LATE = `no answer within ${MAIL_MS_MAX / 1000} s`;

/** Characters of a dot-atom (RFC 5322 §3.2.3). */
const idPart = (text: string): string => text.replace(/[^\w!#$%&'*+/=?^`{|}~.-]/g, '_');

/** An error of nodemailer. */
interface SmtpError extends Error {
  readonly code?: string;
  /** The reply of the server. */
  readonly response?: string;
  readonly responseCode?: number;
}

/** Errors about the mail itself. Other errors, for example of authentication or TLS, are about the settings. */
const ABOUT_MAIL: ReadonlySet<string | undefined> = new Set(['EENVELOPE', 'EMESSAGE']);

function resultOf(error: SmtpError): MailResult {
  const { code, response, responseCode: status = 0 } = error;
  const fault = response === undefined ? reasonOf(error) : `the mail server answered: ${reasonOf(response)}`;
  return { status, fault, isRefused: status >= 500 && ABOUT_MAIL.has(code) };
}
