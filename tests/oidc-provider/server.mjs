// The OpenID provider that the tests obtain tokens from: the npm package `oidc-provider` with client credentials,
// introspection and revocation switched on; where it is told to, people sign in at it too.
//
// Its settings are the first line of its standard input, as JSON:
//   port         where to listen on 127.0.0.1; 0 for any free port
//   clients      client metadata of the package (client_id, client_secret, token_endpoint_auth_method, scope)
//   authMethods  how clients may present their secret: client_secret_basic, client_secret_post, or both
//   scopes       every scope that the provider knows
//   resources    audience -> {scope, accessTokenFormat}: what tokens are given out for
//   lives        the seconds that the first, the second, … token lives; the last figure holds from there on
//   people       whether anyone signs in by the package's own pages, under the name that he types; his tokens say it in
//                `preferred_username`
//   algorithm    what its tokens are signed by: ES256, or RS256
//
// When it is ready it prints one line of JSON, {"issuer": …}. It ends when its standard input does, so that nothing is
// left of a test that was killed.

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { Provider, errors } from 'oidc-provider';

// The package's notices would stand between the test and the line that it waits for.
console.info = console.error;

const lines = createInterface({ input: process.stdin });
lines.once('close', () => process.exit());
lines.once('line', (line) => start(JSON.parse(line)));

async function start(settings) {
  // A kept connection is never closed between two requests of a test that takes its time.
  const server = createServer({ keepAliveTimeout: 0 });
  server.listen(settings.port, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, configure(settings));
  observe(provider, settings.authMethods);
  server.on('request', provider.callback());
  console.log(JSON.stringify({ issuer }));
}

function configure({ clients, authMethods, scopes, resources, lives, people = false, algorithm = 'ES256' }) {
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
    // The name stands in the ID token itself, as many providers have it.
    conformIdTokenClaims: false,
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, preferred_username: id }) }),
    extraTokenClaims: (ctx, token) => (token.accountId ? { preferred_username: token.accountId } : undefined),
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [makeKey(algorithm)] },
    features: {
      devInteractions: { enabled: people },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        // The package reads `resource` (RFC 8707); here the same is said by `audience`, as many providers want it.
        defaultResource: (ctx) => ctx.oidc.body?.audience,
        // Who signed in gets the token for what he signed in to.
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

// Each start has a key of its own, so that a provider that comes back has changed its keys.
function makeKey(alg) {
  const { privateKey } =
    alg === 'ES256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg };
}

// Keeps account of the token requests, and shows it at GET /test/token-requests: [{method, status}].
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
    // The package looks at the header whatever `clientAuthMethods` says; a provider without this method does not.
    if (!authMethods.includes('client_secret_basic')) delete ctx.req.headers.authorization;
    await next();
    request.status = ctx.status;
  });
}
