import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyResult, jwtVerify } from 'jose';
import type { World } from '../../accounts/world.ts';

/** The published keys, as a client gets them. */
export async function publishedKeys({ app }: World): Promise<JSONWebKeySet> {
  const answer = await app.inject({ url: '/oauth/discovery/keys' });
  if (answer.statusCode !== 200) throw new Error(`no keys: ${answer.statusCode} ${answer.body}`);
  return answer.json();
}

export async function issuerOf({ app }: World): Promise<string> {
  return (await app.inject({ url: '/.well-known/openid-configuration' })).json().issuer;
}

/** Verifies an ID token as a client does: signature, issuer, audience and time. */
export async function verified(world: World, idToken: string, audience: string): Promise<JWTVerifyResult> {
  return jwtVerify(idToken, createLocalJWKSet(await publishedKeys(world)), {
    issuer: await issuerOf(world),
    audience,
    algorithms: ['RS256', 'ES256'],
    requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time'],
    currentDate: new Date(world.now()),
  });
}
