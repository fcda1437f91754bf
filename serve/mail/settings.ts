import { z } from 'zod';
import { booleanSetting } from '../../infra/config/setting-types.ts';

/** One address, without a name; nothing that a list of addresses or a header could follow. */
export const MAIL_ADDRESS = /^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/;

/** Settings of outgoing mail. */
export const mailSettings = {
  SMTP_URL: z
    .string()
    .regex(
      /^smtps?:\/\/[^/?#]+\/?$/,
      'expected smtp://USER:PASSWORD@HOST:PORT, or smtps:// for TLS from the start',
    )
    .optional()
    .describe(
      'server that takes mail, as smtp://USER:PASSWORD@HOST:587, or smtps://…:465 for TLS from the start; special characters percent-encoded; default: no mail is sent',
    ),
  SMTP_FROM: z
    .string()
    .regex(MAIL_ADDRESS, 'expected an e-mail address, without a name')
    .optional()
    .describe('e-mail address of the sender; needed with SMTP_URL'),
  SMTP_REQUIRE_TLS: booleanSetting('true').describe(
    'whether mail is sent only over an encrypted connection; false sends it to an smtp:// server that offers no STARTTLS',
  ),
};

export type MailSettings = z.output<z.ZodObject<typeof mailSettings>>;
