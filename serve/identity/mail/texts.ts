import type { MailTopic } from '../../accounts/account-mails.ts';
import { html } from '../../pages/html.ts';

// A mail to an unconfirmed address may reach a stranger, so it contains no text that a user chose. Other mails name the
// account.

/** The content of a mail, in text and HTML. */
interface Letter {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

interface LetterContext {
  readonly username: string;
  /** Public address of the service. */
  readonly origin: string;
  /** Path of the link; '' in mails without one. */
  readonly path: string;
}

interface LetterText {
  readonly subject: string;
  readonly before: string;
  /** The text of the link. */
  readonly action?: string;
  readonly after: readonly string[];
}

/** `email-taken` replaces `confirm-email` if another account has confirmed the address. */
export type LetterTopic = MailTopic | 'email-taken';

const TEXTS: Readonly<Record<LetterTopic, (account: string, origin: string) => LetterText>> = {
  'reset-password': (account) => ({
    subject: 'Set a new password',
    before: `Somebody asked for a new password of ${account}.`,
    action: 'Set a new password',
    after: [
      'The link works once, for 30 minutes.',
      'If you did not ask for it, ignore this mail. Your password stays as it is.',
    ],
  }),
  'confirm-email': (_account, origin) => ({
    subject: 'Confirm your email',
    before: `This address was entered for an account at ${origin}.`,
    action: 'Confirm this address',
    after: [
      'The link works once, for 24 hours. You have to be signed in to the account.',
      'If you have no account there, ignore this mail.',
    ],
  }),
  'email-taken': (_account, origin) => ({
    subject: 'Your email is already in use',
    before: `This address was entered for an account at ${origin}, but another account has confirmed it. Nothing was changed.`,
    after: ['If both accounts are yours, change the email of the other account first.'],
  }),
  'password-changed': (account) => ({
    subject: 'Your password was changed',
    before: `The password of ${account} was changed, and all its sessions were signed out.`,
    ...ifNotYou('Set a new password', ['Then revoke keys and applications that you do not recognize.']),
  }),
  'two-factor-disabled': (account) => ({
    subject: 'Two-factor authentication was disabled',
    before: `Two-factor authentication of ${account} was disabled.`,
    ...ifNotYou('Set a new password', ['Then enable two-factor authentication again.']),
  }),
  'email-change-requested': (account) => ({
    subject: 'Your email is about to be changed',
    before: `Somebody who is signed in to ${account} asked to change its email.`,
    ...ifNotYou('Set a new password', ['A new password stops the change.']),
  }),
  'email-changed': (account) => ({
    subject: 'Your email was changed',
    before: `The email of ${account} was changed. This address is no longer used.`,
    after: ['If this was not you, tell the operator of the service.'],
  }),
  'account-deleted': (_account, origin) => ({
    subject: 'Your account was deleted',
    before: `The account with this address at ${origin} was deleted.`,
    after: ['If this was not you, tell the operator of the service. The account cannot be restored.'],
  }),
};

/** The link of a notice leads to the page for a forgotten password. */
const ifNotYou = (action: string, then: readonly string[]) => ({
  action,
  after: ['If this was you, there is nothing to do. If it was not, follow the link.', ...then],
});

export function letterOf(topic: LetterTopic, { username, origin, path }: LetterContext): Letter {
  const {
    subject,
    before,
    action = '',
    after,
  } = TEXTS[topic](`the account ${username} at ${origin}`, origin);
  const url = `${origin}${path}`;
  const link = { text: `${action}: ${url}`, html: html`<p><a href="${url}">${action}</a></p>` };
  const hasLink = action !== '';
  return {
    subject: `${subject} (Chain Metrics)`,
    text: `${[before, ...(hasLink ? [link.text] : []), ...after].join('\n\n')}\n`,
    html: html`<!doctype html><html lang="en"><body style="font-family:sans-serif">
<p>${before}</p>
${hasLink && link.html}
${after.map((sentence) => html`<p>${sentence}</p>`)}
</body></html>`.text,
  };
}
