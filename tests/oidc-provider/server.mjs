// An OpenID provider for tests: the npm package `oidc-provider` with client credentials, introspection and, on demand,
// sign-in.
//
// The first line of standard input holds the settings as JSON:
//   port         port on 127.0.0.1; 0 for any free one
//   clients      client metadata of the package (client_id, client_secret, token_endpoint_auth_method, scope)
//   authMethods  accepted client authentication: client_secret_basic, client_secret_post, or both
//   scopes       scopes that the provider knows
//   resources    audience -> {scope, accessTokenFormat}
//   lives        lifetimes of the first, second, … token in seconds; the last one applies to all further tokens
//   people       whether any name can sign in; tokens carry it in `preferred_username`
//   userinfo     whether the name is told at the userinfo endpoint only; clients may have it signed
//   algorithm    signature algorithm of tokens: ES256 or RS256
//
// Once ready it prints {"issuer": …}. It ends with its standard input, so that a killed test leaves nothing behind.

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { Provider, errors } from 'oidc-provider';

// Keeps the package's notices off standard output.
console.info = console.error;

const lines = createInterface({ input: process.stdin });
lines.once('close', () => process.exit());
lines.once('line', (line) => start(JSON.parse(line)));

async function start(settings) {
  // Idle connections stay open between requests of a slow test.
  const server = createServer({ keepAliveTimeout: 0 });
  server.listen(settings.port, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, configure(settings));
  observe(provider, settings.authMethods);
  server.on('request', provider.callback());
  console.log(JSON.stringify({ issuer }));
}

function configure({ clients, authMethods, scopes, resources, lives, people = false, userinfo = false, algorithm = 'ES256' }) {
  return {
    clients: clients.map((client) => ({
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
      ...client,
    })),
    clientAuthMethods: authMethods,
    clientDefaults: { id_token_signed_response_alg: algorithm },
    scopes,
    responseTypes: people ? ['code'] : [],
    claims: { openid: ['sub', 'preferred_username'] },
    // Else the ID token itself holds the name.
    conformIdTokenClaims: userinfo,
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, preferred_username: id }) }),
    extraTokenClaims: (ctx, token) => (token.accountId ? { preferred_username: token.accountId } : undefined),
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [makeKey(algorithm)] },
    features: {
      devInteractions: { enabled: people },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      jwtUserinfo: { enabled: true },
      resourceIndicators: {
        enabled: true,
        // The package reads `resource` (RFC 8707); many providers use `audience` instead.
        defaultResource: (ctx) => ctx.oidc.body?.audience,
        // The token is for the resource of the sign-in.
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, audience) => {
          if (!Object.hasOwn(resources, audience)) throw new errors.InvalidTarget();
          const accessTokenTTL = lives.length > 1 ? lives.shift() : lives[0];
          return { ...resources[audience], accessTokenTTL, jwt: { sign: { alg: algorithm } } };
        },
      },
    },
  };
}

// A new key at every start, so that a restarted provider has changed its keys.
function makeKey(alg) {
  const { privateKey } =
    alg === 'ES256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg };
}

// Records token requests and lists them at GET /test/token-requests: [{method, status}].
function observe(provider, authMethods) {
  const requests = [];
  provider.use(async (ctx, next) => {
    if (ctx.path === '/test/token-requests') {
      ctx.body = requests;
      return;
    }
    if (ctx.path !== '/token') {
      await next();
      return;
    }
    const request = { method: ctx.headers.authorization ? 'basic' : 'post', status: 0 };
    requests.push(request);
    // The package accepts Basic regardless of `clientAuthMethods`; a provider without it does not.
    if (!authMethods.includes('client_secret_basic')) delete ctx.req.headers.authorization;
    await next();
    request.status = ctx.status;
  });
}
