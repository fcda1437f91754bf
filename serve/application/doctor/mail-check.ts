import { reasonOf } from '../../../infra/errors.ts';
import { type Finding, failed, fine, warning } from '../../../infra/finding.ts';
import { Mailer } from '../../mail/mailer.ts';
import type { MailSettings } from '../../mail/settings.ts';

const CHECK = 'mail';

/** Checks whether mails of accounts and of the pager can be sent. Sends no mail. */
export async function checkMail(settings: MailSettings): Promise<Finding> {
  let mailer: Mailer;
  try {
    mailer = new Mailer(settings);
  } catch (error) {
    return failed(CHECK, reasonOf(error), 'set SMTP_FROM to the address of the sender');
  }
  if (!mailer.isConfigured)
    return fine(
      CHECK,
      'not configured; confirm emails and reset passwords with `chain-metrics users`, or set SMTP_URL and SMTP_FROM',
    );
  const fault = await mailer.check();
  return fault === ''
    ? fine(CHECK, 'the server of SMTP_URL accepts connections')
    : warning(CHECK, `SMTP_URL: ${fault}`, 'compare SMTP_URL with the settings of your mail service');
}
