import { describe, expect, test } from 'vitest';
import { Random } from '../../../../ingest/demo/random.ts';
import { gitAccessOf } from '../../../../serve/identity/oauth/git-request.ts';
import { spellings } from './git-spellings.ts';

/** The addresses that Git's clients send. */
const PLAIN = ['/git-upload-pack', '/git-receive-pack'].flatMap((end) => [
  `/group/project.git${end}`,
  `/project.git/info/refs?service=${end.slice(1)}`,
]);

describe('the access that an address needs', () => {
  test.each([
    ['/project.git/info/refs?service=git-upload-pack', 'GET', 'read'],
    ['/project.git/info/refs?service=git-receive-pack', 'GET', 'write'],
    ['/project.git/git-upload-pack', 'POST', 'read'],
    ['/project.git/git-receive-pack', 'POST', 'write'],
    ['/a-group/of_many/p.r~o+j@e.git/git-upload-pack', 'POST', 'read'],
    ['/gr%C3%BC%c3%9fe/%E6%97%A5%E6%9C%AC.git/git-upload-pack', 'POST', 'read'],
    ['/work/.git/info/refs?service=git-upload-pack', 'GET', 'read'],
    ['/git-upload-pack', 'POST', 'read'],
  ] as const)('of %s by %s is %s', (uri, method, access) => {
    expect(gitAccessOf(uri, method)).toBe(access);
    expect(gitAccessOf(uri, undefined)).toBe(access);
    for (const other of ['GET', 'POST', 'HEAD', 'PUT', 'post', '', 'GET, POST'].filter(
      (one) => one !== method,
    )) {
      expect(gitAccessOf(uri, other)).toBeNull();
    }
  });

  test.each([
    '',
    '/',
    '*',
    '/project.git',
    '/project.git/info/refs',
    '/project.git/info/refs?',
    '/project.git/info/refs?service=git-shell',
    '/project.git/info/refs?service=git-upload-archive-pack',
    '/project.git/info/refs?service=__proto__',
    '/project.git/config',
    '/project.git/objects/info/packs',
    '/project.git/info/lfs/objects/batch',
    '/project.git/git-upload-pack?service=git-upload-pack',
    '/project.git/git-receive-pack/git-upload-pack',
    '/project.git/GIT-RECEIVE-PACK/git-upload-pack',
    '/project.git/git-upload-pack/info/refs?service=git-upload-pack',
    '/project.git/git-upload-pack, /project.git/git-receive-pack',
  ])('is none of %s, which is no request of the Git protocol', (uri) => {
    expect(gitAccessOf(uri, undefined)).toBeNull();
  });

  test('is none where the address is too long, and never that of a fetch where it could be a push', () => {
    expect(gitAccessOf(`/${'a'.repeat(5000)}/git-upload-pack`, undefined)).toBeNull();
    for (const { uri } of spellings()) expect([uri, gitAccessOf(uri, undefined)]).not.toEqual([uri, 'read']);
  });

  test('is that of an address alone that no parser reads in another way', () => {
    const random = new Random(4711);
    const seeds = spellings().map(({ uri }) => uri.slice(0, 200));
    const parts = [
      ...'#?&;%/\\.:@~+=aG-_\0\n\xff',
      '%2f',
      '%2e',
      '%00',
      '..',
      '//',
      'git-receive-pack',
      'git-upload-pack',
      '?service=',
    ];
    let accepted = 0;
    for (let i = 0; i < 50_000; i++) {
      let uri = random.chance(0.7) ? random.pick(PLAIN) : random.pick(seeds);
      for (let changes = random.whole(0, 3); changes > 0; changes--) {
        const at = random.whole(0, uri.length);
        uri = uri.slice(0, at) + random.pick(parts) + uri.slice(at + random.whole(0, 2));
      }
      const access = gitAccessOf(uri, undefined);
      if (access === null) continue;
      accepted++;
      const { pathname, search, hash } = new URL(`http://git.example${uri}`);
      expect([pathname + search, hash]).toEqual([uri, '']);
      const path = decodeURIComponent(pathname);
      expect(path).not.toMatch(/\/\/|\/\.{1,2}(?:\/|$)|[\\?#;%\p{Cc}]/u);
      const asked = search === '' ? path.split('/').at(-1) : search.slice('?service='.length);
      expect([uri, access]).toEqual([uri, asked === 'git-upload-pack' ? 'read' : 'write']);
    }
    expect(accepted).toBeGreaterThan(1000);
  });
});
