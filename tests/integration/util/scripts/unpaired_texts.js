({ default: texts }) => {
    const names = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort().join();
    const isPaired = (pair) =>
        pair.length === 2 && pair.every(Boolean) && names(pair[0].split("|").at(-1)) === names(pair[1]);
    return Object.entries(texts).filter(([, pair]) => !isPaired(pair)).map(([key]) => key);
}
