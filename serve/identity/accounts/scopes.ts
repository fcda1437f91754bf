/** What a token may be asked to allow, in the words that people read before they agree. */
export const SCOPES = {
  api: {
    title: 'Use the whole API',
    detail: 'Read and write everything that you can reach, including integrations and alerts.',
  },
  read_user: { title: 'Read your account', detail: 'Your user name, name and e-mail address, read-only.' },
  profile: { title: 'Know who you are', detail: 'Your user name, name and picture.' },
  read_repository: { title: 'Read repositories', detail: 'Clone and fetch over Git.' },
  write_repository: { title: 'Write repositories', detail: 'Clone, fetch and push over Git.' },
  openid: { title: 'Sign you in', detail: 'Recognise you when you come back.' },
  email: { title: 'See your e-mail address', detail: 'Only the address, and whether it was confirmed.' },
} as const;

export type Scope = keyof typeof SCOPES;
export const SCOPE_NAMES = Object.keys(SCOPES) as Scope[];
export const DEFAULT_SCOPE: Scope = 'api';

export const isScope = (name: string): name is Scope => Object.hasOwn(SCOPES, name);

/** Scopes of a space-separated list, each once; null when the list is not well-formed or names an unknown one. */
export function readScopes(list: string): Scope[] | null {
  const names = list.split(' ').filter((name) => name !== '');
  return names.every(isScope) ? [...new Set(names)] : null;
}
