// Escapes texts of senders for each format, so they cannot add links, mentions or markup.

/** A zero-width space. It breaks up mentions and links. */
const BREAK = '\u200b';

/** Senders can put any text into a field for a URL. */
export const isWebUrl = (text: string): boolean => /^https?:\/\//i.test(text);

/** `@name` would notify people in a chat. */
export const withoutMentions = (text: string): string => text.replaceAll('@', `@${BREAK}`);

/** For Slack, and for tools that read its messages as Markdown: there `](`, `][` and `]:` make links. */
export const slackText = (text: string): string =>
  withoutMentions(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    // A template may have `<` before the value, and `<!` starts a mention.
    .replace(/^[!#]/, `$&${BREAK}`)
    .replace(/\](?=[([:])/g, `]${BREAK}`);

/** For the Markdown of adaptive cards. */
export const cardText = (text: string): string =>
  text
    .replace(/[\\`*_{}[\]()<>#~|!]/g, '\\$&')
    .replace(/^(\s*)([-+])(?=\s)/gm, '$1\\$2')
    .replace(/^(\s*\d+)([.])(?=\s)/gm, '$1\\$2');
