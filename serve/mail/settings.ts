import { z } from 'zod';
import { booleanSetting } from '../../infra/config/setting-types.ts';

/** A single address without a name. The excluded characters could add another address or a header. */
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
      'outgoing mail server, as smtp://USER:PASSWORD@HOST:587, or smtps://…:465 for TLS from the start, with special characters percent-encoded; default: no mail is sent',
    ),
  SMTP_FROM: z
    .string()
    .regex(MAIL_ADDRESS, 'expected an e-mail address, without a name')
    .optional()
    .describe('e-mail address of the sender; required with SMTP_URL'),
  SMTP_REQUIRE_TLS: booleanSetting('true').describe(
    'whether mail is sent only over an encrypted connection; false also sends it to smtp:// servers without STARTTLS',
  ),
};

export type MailSettings = z.output<z.ZodObject<typeof mailSettings>>;
