import { hiddenFields } from '../../../accounts/browser.ts';
import type { Party } from '../flow.ts';

/** Opens an authorization URL, authorizes the application and follows the redirect. */
export async function allow({ browser }: Party, address: string | URL): Promise<URL> {
  const { pathname, search } = new URL(address);
  const page = await browser.get(pathname + search);
  const answer =
    page.statusCode === 303
      ? page
      : await browser.post('/oauth/authorize', {
          ...hiddenFields(page.body, '/oauth/authorize'),
          decision: 'allow',
        });
  const { location } = answer.headers;
  if (answer.statusCode !== 303 || location === undefined)
    throw new Error(`not sent back: ${answer.statusCode} ${answer.body.slice(0, 200)}`);
  return new URL(String(location));
}
