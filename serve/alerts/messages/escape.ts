// Texts of senders stay texts in every format: no link, mention, or markup.

/** An invisible character that ends a mention or a link before it begins. */
const BREAK = '\u200b';

/** Senders can write any text where a link is meant. */
export const isWebUrl = (text: string): boolean => /^https?:\/\//i.test(text);

/** `@name` would tell people of a channel. */
export const withoutMentions = (text: string): string => text.replaceAll('@', `@${BREAK}`);

/** For Slack, and for tools that read its messages as Markdown, where `](`, `][` and `]:` make links. */
export const slackText = (text: string): string =>
  withoutMentions(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    // A template may put a text behind its own `<`.
    .replace(/^[!#]/, `$&${BREAK}`)
    .replace(/\](?=[([:])/g, `]${BREAK}`);

/** For the Markdown of adaptive cards. */
export const cardText = (text: string): string =>
  text
    .replace(/[\\`*_{}[\]()<>#~|!]/g, '\\$&')
    .replace(/^(\s*)([-+])(?=\s)/gm, '$1\\$2')
    .replace(/^(\s*\d+)([.])(?=\s)/gm, '$1\\$2');
