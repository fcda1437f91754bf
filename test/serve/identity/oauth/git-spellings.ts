/** A request line and headers that somebody could send to a proxy before Git. */
export interface Spelling {
  readonly method: string;
  readonly uri: string;
  readonly headers?: readonly string[];
  readonly version?: string;
}

const READ = ['/git-upload-pack', '/info/refs?service=git-upload-pack'] as const;
const WRITE = '/git-receive-pack';

/** What parsers read as an end, as nothing, as another character, or not at all. */
const JOINTS = [
  ...[
    '#',
    '%23',
    '?',
    '%3f',
    '%3F',
    '??',
    '&',
    ';',
    '%3b',
    ',',
    ':',
    '!',
    '*',
    '|',
    '"',
    '<',

    '=',
  ],
  ...['%00', '%0a', '%0d', '%0d%0a', '%09', '%20', '%7f', '%c0%80', '%ff', ' ', '\t', '\x01', '\xff', '\xa0'],
  ...['/', '//', '///', '%2f', '%2F', '%252f', '\\', '%5c', '%5C', '/\\', '%c0%af', '%e0%80%af', '%ef%bc%8f'],
  ...[
    '/.',
    '/./',
    '/..',
    '/../',
    '/.../',
    '/%2e',
    '/%2e/',
    '/%2e%2e/',
    '/.%2e/',
    '/%2E%2E/',
    '/..;/',
    '/;/',
    ';/',
  ],
  ...[
    '/..%2f',
    '%2f..%2f',
    '%2f%2e%2e%2f',
    '/..%5c',
    '/../..',
    '/x/../',
    '/x/../../project.git',
    '/%2e%2e%2fproject.git',
  ],
  ...[
    '%',
    '%2',
    '%zz',
    '%u002f',
    '%%2f',
    '#/',
    '#?',
    '?#',
    '#/..',
    '/#',
    '/#/',
    '%23/',
    '%3f/',
    '?/',
    ';a=b/',
    '?a=b&c=',
  ],
];

/** Ways to write the last part so that Git, but not a careless check, reads it as a push. */
const WRITTEN = [
  WRITE,
  '/git-receive-pack/',
  '/git-receive-pack?',
  '/git-receive-pack#',
  '/git-receive-pack;',
  '/git-receive-pack%20',
  '/git-receive-pack%00',
  '/git-receive-pack%0a',
  '/git-receive-pack.',
  '/git-receive-pack/.',
  '/git-receive-pack?service=git-upload-pack',
  '/git-receive-pack?x=/git-upload-pack',
  '/git-receive-pack?/info/refs?service=git-upload-pack',
  '/git%2dreceive-pack',
  '/git%2Dreceive%2Dpack',
  '/%67it-receive-pack',
  '/%67%69%74-receive-pack',
  '/git-receive-pac%6b',
  '%2fgit-receive-pack',
  '%2Fgit-receive-pack',
  '/%2fgit-receive-pack',
  '//git-receive-pack',
  '/./git-receive-pack',
  '/%2e/git-receive-pack',
  '/x/../git-receive-pack',
  '/git-upload-pack/../git-receive-pack',
  '/git-upload-pack/%2e%2e/git-receive-pack',
  '/git-upload-pack/.%2E/git-receive-pack',
  '/info/refs/../../git-receive-pack',
  '/info/refs/..%2f..%2fgit-receive-pack',
  '/info/../git-receive-pack?service=git-upload-pack',
  '\\git-receive-pack',
  '/GIT-RECEIVE-PACK',
  '/Git-Receive-Pack',
  '/git-receive-PACK?service=git-upload-pack',
  '/ｇit-receive-pack',
  '/%ef%bd%87it-receive-pack',
  '/git-receive-pack%c0%af',
];

const BEFORE = [
  '/project.git',
  '//project.git',
  '/./project.git',
  '/x/../project.git',
  '/%70roject.git',
  '/%2e/project.git',
  '/git-upload-pack/../project.git',
  '/project.git/git-upload-pack/..',
  '/info/refs?service=git-upload-pack/../project.git',
  'http://git.example/project.git',
  'HTTP://git.example/project.git',
  'http://git.example/git-upload-pack/../project.git',
  'http://git.example#/git-upload-pack/../project.git',
  'http:/project.git',
  'http:///project.git',
  '//git.example/project.git',
  'project.git',
  '*/project.git',
  '\\project.git',
  '/?/project.git',
];

const QUERIES = [
  'service=git-receive-pack&service=git-upload-pack',
  'service=git-upload-pack&service=git-receive-pack',
  'service=git-upload-pack;service=git-receive-pack',
  'service=git-upload-pack#&service=git-receive-pack',
  'service=git-upload-pack%26service=git-receive-pack',
  'service=git-upload-pack%00&service=git-receive-pack',
  'service=git%2dreceive-pack',
  'service=git%2Dupload-pack&%73ervice=git-receive-pack',
  '%73ervice=git-receive-pack',
  'Service=git-upload-pack&service=git-receive-pack',
  'service[]=git-upload-pack&service=git-receive-pack',
  'service=git-upload-pack&service[]=git-receive-pack',
  '&service=git-receive-pack',
  'service=git-receive-pack+',
  'service=+git-receive-pack',
  'service=git-receive-pack/git-upload-pack',
  'x=git-upload-pack&service=git-receive-pack',
];

/** Headers by which other software replaces method or address. */
const HEADERS = [
  'X-Original-URI: /project.git/git-upload-pack',
  'X_Original_URI: /project.git/git-upload-pack',
  'X-Original-URI : /project.git/git-upload-pack',
  'x-original-uri: /project.git/info/refs?service=git-upload-pack',
  'X-Original-URL: /project.git/git-upload-pack',
  'X-Rewrite-URL: /project.git/git-upload-pack',
  'X-Forwarded-Uri: /project.git/git-upload-pack',
  'X-Original-Method: GET',
  'X-HTTP-Method-Override: GET',
  'X-Auth-Access: write',
  'Connection: X-Original-URI, close',
  'Content-Encoding: identity',
  'Expect: 100-continue',
];

const METHODS = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'post', 'POSTX', 'GIT-RECEIVE-PACK'];

/** Every way that is known to make a push look like a fetch. */
export function spellings(): Spelling[] {
  const post = (uri: string): Spelling => ({ method: 'POST', uri });
  const long = 'a'.repeat(5000);
  return [
    ...JOINTS.flatMap((joint) => READ.map((read) => post(`/project.git${WRITE}${joint}${read}`))),
    ...JOINTS.map((joint) => post(`/project.git/git-upload-pack${joint}${WRITE}`)),
    ...WRITTEN.map((written) => post(`/project.git${written}`)),
    ...BEFORE.flatMap((before) => ['', '#/git-upload-pack'].map((end) => post(`${before}${WRITE}${end}`))),
    ...QUERIES.flatMap((query) => [
      post(`/project.git${WRITE}?${query}`),
      { method: 'GET', uri: `/project.git/info/refs?${query}` },
    ]),
    ...HEADERS.map((header) => ({ ...post(`/project.git${WRITE}`), headers: [header] })),
    ...METHODS.map((method) => ({ method, uri: `/project.git${WRITE}#/git-upload-pack` })),
    ...['1.0', '0.9', '1.1x'].map((version) => ({
      ...post(`/project.git${WRITE}#/git-upload-pack`),
      version,
    })),
    post(`/project.git${WRITE}?${long}/git-upload-pack`),
    post(`/${long}/../project.git${WRITE}#/git-upload-pack`),
    post(`/project.git${'/x/..'.repeat(500)}${WRITE}#/git-upload-pack`),
  ];
}
