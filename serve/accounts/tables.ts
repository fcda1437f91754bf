import { type Table, table } from '../../infra/table.ts';
import { type RowOf, storedTable } from '../stored-records/stored-table.ts';

// Times are milliseconds since the epoch; 0 and '' mean none. Secrets are stored as hashes.

export const users = storedTable({
  name: 'users',
  doc: 'Accounts of people. The id is a whole number as text.',
  columns: {
    /** Lowercase letters, digits, `.`, `_` and `-`. */
    username: 'String',
    name: 'String',
    email: 'String',
    /** When the person, or an operator for them, confirmed the email; 0 = never. */
    email_confirmed_ms: 'Int64',
    /** Argon2id in the PHC form; '' if the account has no password. */
    password_hash: 'String',
    /** Tokens of the password grant that are older than this are refused. */
    password_changed_ms: 'Int64',
    /** Encrypted; '' if two-factor authentication is off. */
    totp_secret: 'String',
    /** Time step of the last accepted code, so that no code is accepted twice. */
    totp_step: 'UInt64',
    recovery_hashes: 'Array(String)',
    /** Raised to end all sessions: a session is valid only in the epoch in which it began. */
    session_epoch: 'UInt64',
    is_operator: 'Bool',
    locked_ms: 'Int64',
    /** When the account was deleted. The row stays, so that no later account gets its id. */
    deleted_ms: 'Int64',
    created_ms: 'Int64',
    last_sign_in_ms: 'Int64',
    current_sign_in_ms: 'Int64',
  },
});
export type User = RowOf<typeof users>;

export const sessions = storedTable({
  name: 'sessions',
  doc: 'Browsers that are signed in, or on the way to it. The id is the hash of the secret in the cookie.',
  columns: {
    user_id: 'String',
    epoch: 'UInt64',
    /** The step that is left until the session is valid: `two-factor`, or '' if there is none. */
    awaits: 'LowCardinality(String)',
    created_ms: 'Int64',
    seen_ms: 'Int64',
    ended_ms: 'Int64',
    /** How the user signed in, as in RFC 8176: pwd, swk for a wallet, otp and mfa with a second factor. */
    amr: 'Array(LowCardinality(String))',
    address: 'String',
    agent: 'String',
  },
  foundBy: 'user_id',
});
export type Session = RowOf<typeof sessions>;

export const wallets = storedTable({
  name: 'wallets',
  doc: 'Polkadot accounts that sign in as a user. The id is the account id, 32 bytes as 0x hex.',
  columns: {
    /** '' if it was unlinked. */
    user_id: 'String',
    /** The address as the wallet sent it. */
    address: 'String',
    /** Kind of key: sr25519, ed25519 or ecdsa. */
    scheme: 'LowCardinality(String)',
    linked_ms: 'Int64',
    used_ms: 'Int64',
  },
});
export type Wallet = RowOf<typeof wallets>;

export const applications = storedTable({
  name: 'applications',
  doc: 'Registered applications of third parties. The id is the client_id.',
  columns: {
    owner_id: 'String',
    name: 'String',
    redirect_uris: 'Array(String)',
    /** Allowed redirects after the user has signed out here. */
    post_logout_redirect_uris: 'Array(String)',
    /** Algorithm that signs its ID tokens: RS256 or ES256. */
    id_token_alg: 'LowCardinality(String)',
    scopes: 'Array(String)',
    /** Whether it has a client secret; public applications must use PKCE. */
    is_confidential: 'Bool',
    /** '' for public applications. */
    secret_hash: 'String',
    created_ms: 'Int64',
    revoked_ms: 'Int64',
    /** When an operator stopped it; 0 = not stopped. */
    blocked_ms: 'Int64',
  },
  foundBy: 'owner_id',
});
export type Application = RowOf<typeof applications>;

/**
 * An authorization: a code with its current pair of tokens, a personal access token, or an API key. All of it is one
 * row that is replaced as a whole, so that two pairs are never valid at the same time.
 */
export const grants = storedTable({
  name: 'grants',
  doc: 'Codes, tokens and keys, as hashes.',
  columns: {
    /** code, password, personal or key. */
    kind: 'LowCardinality(String)',
    user_id: 'String',
    /** '' without an application. */
    application_id: 'String',
    /** Given by the user; '' for grants of applications. */
    name: 'String',
    scopes: 'Array(LowCardinality(String))',
    redirect_uri: 'String',
    code_hash: 'String',
    code_challenge: 'String',
    /** The nonce of the authorization request; '' without one. */
    nonce: 'String',
    /** When and how the user of a code signed in. */
    signed_in_ms: 'Int64',
    amr: 'Array(LowCardinality(String))',
    /** Resources that the tokens may be for (RFC 8707); empty = the API of this server. */
    resources: 'Array(String)',
    code_expires_ms: 'Int64',
    code_used_ms: 'Int64',
    access_hash: 'String',
    /** Scopes of the access token: a refresh may request fewer than the user granted. */
    access_scopes: 'Array(LowCardinality(String))',
    /** Resources of the access token: a token request may name fewer than the authorization. */
    access_resources: 'Array(String)',
    access_created_ms: 'Int64',
    /** 0 = never. */
    access_expires_ms: 'Int64',
    /** Hash of the part that all refresh tokens of the grant share. It recognizes tokens that were used before. */
    family_hash: 'String',
    refresh_hash: 'String',
    previous_refresh_hash: 'String',
    refreshed_ms: 'Int64',
    refresh_expires_ms: 'Int64',
    created_ms: 'Int64',
    revoked_ms: 'Int64',
  },
  foundBy: 'user_id',
});
export type Grant = RowOf<typeof grants>;
export type GrantKind = 'code' | 'password' | 'personal' | 'key';

export const signingKeys = storedTable({
  name: 'signing_keys',
  doc: 'Keys that sign ID tokens. The id is the kid.',
  columns: {
    /** RS256 or ES256. */
    alg: 'LowCardinality(String)',
    /** JWK as JSON. */
    public_jwk: 'String',
    /** JWK as JSON, encrypted. */
    private_jwk: 'String',
    created_ms: 'Int64',
    /** A scheduled replacement signs a day after its creation, if clients have fetched it; other keys sign at once. */
    signs_from_ms: 'Int64',
  },
});
export type SigningKey = RowOf<typeof signingKeys>;

export const waitingMails = storedTable({
  name: 'waiting_mails',
  doc: 'Mails about accounts that wait to be sent; one that was sent or given up expires. They hold no secret: a link is made when its mail is sent.',
  columns: {
    topic: 'LowCardinality(String)',
    /** The recipient, even if no account has this address. */
    address: 'String',
    /** '' for a forgotten password: only the job looks the address up, so the request does the same work for all. */
    user_id: 'String',
    /** The part of the Message-ID before the @, the same for every attempt. */
    message_id: 'String',
    requested_ms: 'Int64',
  },
  foundBy: 'user_id',
});

/** Separate from the grants, since it is written often and may be lost. */
export const uses = table({
  name: 'grant_uses',
  doc: 'When keys and tokens were last used.',
  columns: { id: 'String', used_ms: 'Int64' },
  engine: 'ReplacingMergeTree(used_ms)',
  orderBy: ['id'],
});

export const accountTables: readonly Table[] = [
  users,
  sessions,
  wallets,
  applications,
  grants,
  signingKeys,
  waitingMails,
  uses,
];
