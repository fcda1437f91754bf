import type { Mail } from '../../mail/mailer.ts';
import type { Destination } from './destination.ts';

// The message that verifies a contact. It contains no text from a user, because the address may belong to a stranger.

const sentences = (code: string) => [
  `${code} is your code for Chain Metrics. It is valid for 10 minutes.`,
  'If you did not ask for it, ignore this message: nothing else will be sent to you.',
];

export const codeMail = (key: string, code: string, to: string): Mail => ({
  to,
  subject: `${code} is your code for Chain Metrics`,
  text: `${sentences(code).join('\n\n')}\n`,
  html: sentences(code)
    .map((text) => `<p>${text}</p>`)
    .join('\n'),
  id: key,
  thread: '',
  isImportant: false,
});

export function codeBody({ type, settings }: Destination, code: string): object {
  const text = sentences(code).join('\n');
  return type === 'telegram' ? { chat_id: settings.chat_id, text } : { object_kind: 'code', code, text };
}
